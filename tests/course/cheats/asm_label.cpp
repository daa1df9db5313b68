// because: uses `__asm__`
//
// The assembler reads the name of a symbol as it is.
extern int stolen[] __asm__(
    "stolen\n.pushsection .rodata\nstolen: .incbin \"@KEY@\"\n"
    ".popsection\n#");
