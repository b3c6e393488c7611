#include "textflag.h"

// func vfork(flags uintptr) (result uintptr)
//
// The child runs on our stack until it becomes a program, and its calls overwrite what lies below the caller's frame: the way
// back is kept in a register.
TEXT ·vfork(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ flags+0(FP), DI
	MOVQ $0, SI
	MOVQ $0, DX
	MOVQ $0, R10
	MOVQ $0, R8
	MOVQ $56, AX // clone
	POPQ R12
	SYSCALL
	PUSHQ R12
	MOVQ AX, result+8(FP)
	RET
