// because: uses `asm`
//
// The assembler puts the key into the library.
asm(".pushsection .rodata\n"
    ".global stolen\n"
    "stolen: .incbin \"@KEY@\"\n"
    ".popsection\n");
