package seccomp

// What this build knows of the machine. Numbers up to lastSyscall are those of Linux 6.18.
const (
	auditArch   = 0xc00000b7 // AUDIT_ARCH_AARCH64
	x32Bit      = 0
	lastSyscall = 469 // file_setattr
	enosys      = 38
)
