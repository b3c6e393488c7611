package sandbox

func engines() map[string]engine { return nil }

// Enter is for Linux.
func Enter([]string) {}
