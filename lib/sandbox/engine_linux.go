package sandbox

// engines are those of this system.
func engines() map[string]engine {
	return map[string]engine{Native: native{}, Bubblewrap: bubblewrap{}, Landlock: landlocked{}, Container: container{}}
}
