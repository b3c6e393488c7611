package seccomp

// What this build knows of the machine. Numbers up to lastSyscall are those of Linux 6.18.
const (
	auditArch   = 0xc000003e // AUDIT_ARCH_X86_64
	x32Bit      = 0x40000000
	lastSyscall = 469 // file_setattr
	enosys      = 38
)
