#include "textflag.h"

// func int80()
TEXT ·int80(SB), NOSPLIT, $0
	MOVL $20, AX
	INT $0x80
	RET
