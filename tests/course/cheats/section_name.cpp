// because: uses `section`
//
// The assembler reads the name of a section as it is.
#define IN(name) __attribute__((section(name)))
IN(".rodata\n.incbin \"@KEY@\"\n#") int stolen = 1;
