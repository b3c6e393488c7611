package obeyed

// Row is a kind of file that a program obeys.
type Row struct {
	// Names are patterns of path.Match in lower case, for one component of a path or several in a row. They also match
	// everything below.
	Names []string
	// Exact means that only a path's last component counts, in exactly this case.
	Exact bool
	// Program obeys the file; Why says what it does with it.
	Program, Why string
	// Cover means that the sandbox prevents programs from creating these names in the root of a workspace that is not
	// a repository. While a command runs, ls, tar and the user's own programs see what covers them. So only names that
	// would make a repository are covered; other files that a command creates are reported afterwards.
	Cover bool
}

// Rows is the table. It leaves out the project's own code, which the user runs on purpose (a Makefile, package.json,
// go.mod, a test, linters' settings), .env, which most programs read as data, and files that only name a version
// (.nvmrc, .tool-versions).
func Rows() []Row { return rows }

var rows = []Row{
	// Version control: prompts and editors run git status in the user's current directory.
	{Names: []string{".git"}, Program: "git",
		Why: "hooks and settings of a repository name programs", Cover: true},
	{Names: []string{"HEAD"}, Exact: true, Program: "git", Cover: true,
		Why: "with objects and refs beside it, it turns its directory into a repository, whose settings name programs"},
	{Names: []string{".gitmodules"}, Program: "git",
		Why: "it names repositories and paths that submodules are fetched from and to"},
	{Names: []string{".gitattributes"}, Program: "git",
		Why: "it chooses the filters, diff and merge drivers that git runs"},
	{Names: []string{".gitconfig", ".config/git"}, Program: "git",
		Why: "settings name programs: aliases, pagers, monitors, hooks"},
	{Names: []string{".husky"}, Program: "git", Why: "hooks run at each commit, checkout and push"},
	{Names: []string{".githooks"}, Program: "git", Why: "hooks run at each commit, checkout and push"},
	{Names: []string{".pre-commit-config.yaml", "lefthook.y*ml", ".lefthook.y*ml", ".lefthook", ".overcommit.yml"},
		Program: "git",
		Why:     "hook managers run what it names at each commit"},
	{Names: []string{".hg", ".hgrc"}, Program: "hg", Why: "hooks and extensions in its settings run with each command"},
	{Names: []string{".jj", ".sl", ".bzr", ".svn", ".pijul", "_darcs"}, Program: "jj, sl, bzr, svn, pijul, darcs",
		Why: "settings of a repository name programs"},

	// Shells.
	{Names: []string{".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".bash_completion",
		".profile"},
		Program: "bash", Why: "it runs when a shell starts or ends"},
	{Names: []string{".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".zsh*.zwc", ".zlog*.zwc",
		".zprofile.zwc"},
		Program: "zsh", Why: "it runs when a shell starts or ends"},
	{Names: []string{"config.fish", ".config/fish"}, Program: "fish", Why: "it runs when a shell starts"},
	{Names: []string{".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".shrc", ".shinit", ".xonshrc",
		".config/nushell",
		".config/elvish", ".config/powershell", "*_profile.ps1", "profile.ps1"},
		Program: "ksh, csh, xonsh, nu, elvish, pwsh",
		Why:     "it runs when a shell starts or ends"},
	{Names: []string{".inputrc"}, Program: "readline", Why: "it binds keys to text that is typed into every shell"},
	{Names: []string{".envrc"}, Program: "direnv", Why: "it runs when a shell enters the directory"},
	{Names: []string{".mise.toml", "mise.toml", ".mise.*.toml", "mise.*.toml", ".mise", ".config/mise", ".rtx.toml"},
		Program: "mise",
		Why:     "its hooks and variables apply when a shell enters the directory"},
	{Names: []string{".autoenv", ".autoenv.zsh", ".autoenv_leave.zsh"}, Program: "autoenv",
		Why: "it runs when a shell enters or leaves the directory"},
	{Names: []string{".tmux.conf", ".config/tmux", ".screenrc", ".byobu"}, Program: "tmux, screen",
		Why: "it runs commands when a terminal is opened"},
	{Names: []string{".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment", ".config/autostart",
		".config/systemd",
		".config/environment.d", ".local/share/applications", ".local/share/dbus-1", ".local/share/systemd",
		"launchagents"},
		Program: "the desktop", Why: "it starts programs when its user logs in"},
	{Names: []string{".local/bin"}, Program: "every shell",
		Why: "its programs are on PATH, before those of the system"},

	// Editors, when they open a file or the directory.
	{Names: []string{".vimrc", ".gvimrc", "_vimrc", "_gvimrc", ".vim", ".lvimrc", ".local.vimrc"}, Program: "vim",
		Why: "it runs when vim starts, or opens a file here"},
	{Names: []string{".exrc", ".nvim.lua", ".nvimrc"}, Program: "vim, nvim",
		Why: "it runs when the editor starts here with exrc set"},
	{Names: []string{".config/nvim", ".config/vim"}, Program: "vim, nvim", Why: "it runs when the editor starts"},
	{Names: []string{".dir-locals.el"}, Program: "emacs",
		Why: "its variables and code apply to each file that is opened here"},
	{Names: []string{".dir-locals-2.el"}, Program: "emacs",
		Why: "its variables and code apply to each file that is opened here"},
	{Names: []string{".emacs", ".emacs.el", ".emacs.d", ".config/emacs"}, Program: "emacs",
		Why: "it runs when emacs starts"},
	{Names: []string{".ycm_extra_conf.py"}, Program: "vim", Why: "a completer runs it when a file is opened"},
	{Names: []string{".vscode"}, Program: "VS Code",
		Why: "tasks can run when the folder is opened, and settings name programs"},
	{Names: []string{"*.code-workspace"}, Program: "VS Code",
		Why: "tasks can run when it is opened, and settings name programs"},
	{Names: []string{".devcontainer", ".devcontainer.json"}, Program: "VS Code",
		Why: "commands in it run on the host when the folder is opened in a container"},
	{Names: []string{".idea"}, Program: "JetBrains IDEs",
		Why: "start-up tasks, run configurations and paths of tools in it are obeyed when the project is opened"},
	{Names: []string{".zed"}, Program: "Zed", Why: "settings name the language servers that are started"},
	{Names: []string{".fleet", ".helix", ".nova", ".theia", ".vs"}, Program: "editors",
		Why: "settings name the language servers and tools that are started"},
	{Names: []string{".config/zed", ".config/helix", ".config/kak", ".config/code"}, Program: "editors",
		Why: "settings name the language servers and tools that are started"},

	// Agents and their tools, whose settings name programs and grant rights.
	{Names: []string{".mcp.json"}, Program: "coding agents",
		Why: "it names servers that are started as programs"},
	{Names: []string{"mcp.json"}, Program: "coding agents", Why: "it names servers that are started as programs"},
	{Names: []string{".claude", ".codex", ".cursor", ".gemini"}, Program: "coding agents",
		Why: "settings, hooks and permissions of agents that work here"},
	{Names: []string{".windsurf", ".opencode", ".cline", ".roo", ".kiro", ".junie", ".goose", ".amp", ".qwen",
		".crush", ".continue", ".aider*", ".clawsh",
		"opencode.json*", ".amazonq", ".augment"}, Program: "coding agents",
		Why: "settings, hooks and permissions of agents that work here"},

	// Package managers and toolchains, which read these before they do anything, even print their version.
	{Names: []string{".npmrc"}, Program: "npm, pnpm",
		Why: "settings name the shell, the node options and the registry of every command"},
	{Names: []string{".yarnrc", ".yarnrc.yml", ".yarn/plugins", ".yarn/releases", ".pnp.*"}, Program: "yarn",
		Why: "it names the program and the plugins that run as yarn"},
	{Names: []string{".pnpmfile.cjs", "pnpmfile.js", "pnpmfile.cjs"}, Program: "pnpm",
		Why: "it runs whenever packages are resolved"},
	{Names: []string{"bunfig.toml", ".bunfig.toml"}, Program: "bun",
		Why: "it names code that is loaded before every script"},
	{Names: []string{".cargo"}, Program: "cargo",
		Why: "settings name the compiler, its wrapper, runners and aliases"},
	{Names: []string{"rust-toolchain", "rust-toolchain.toml"}, Program: "rustup",
		Why: "it can name a directory whose programs run as cargo and rustc"},
	{Names: []string{".config/go"}, Program: "go", Why: "GOFLAGS and the compilers in it apply to every command"},
	{Names: []string{".mvn"}, Program: "mvn",
		Why: "every command loads its extensions and JVM options"},
	{Names: []string{".sbtopts", ".jvmopts"}, Program: "sbt", Why: "JVM options load code"},
	{Names: []string{".gradle/init.d", ".gradle/init.gradle*", ".gradle/gradle.properties"}, Program: "gradle",
		Why: "it runs before every build"},
	{Names: []string{".bundle"}, Program: "bundle", Why: "settings name paths and plugins that every command loads"},
	{Names: []string{".gemrc", ".irbrc", ".pryrc"}, Program: "ruby", Why: "it runs when a console starts here"},
	{Names: []string{"sitecustomize.py", "usercustomize.py", "*-packages/*.pth", "pyvenv.cfg"}, Program: "python",
		Why: "it runs, or chooses what runs, whenever python starts with this directory on its path"},
	{Names: []string{".pythonrc", ".pythonrc.py", ".pythonstartup", ".pdbrc", ".pdbrc.py", ".ipython",
		"ipython_config.py",
		"jupyter_*config.py", ".jupyter"}, Program: "python",
		Why: "it runs when a console, a debugger or a notebook starts here"},
	{Names: []string{".pip", "pip.conf", ".config/pip", ".pydistutils.cfg", ".condarc"}, Program: "pip, conda",
		Why: "it names where packages come from"},
	{Names: []string{".rprofile", ".renviron", ".octaverc", ".ghci", ".ocamlinit", ".iex.exs", ".juliarc.jl",
		".sbclrc", ".guile",
		".erlang"}, Program: "R, octave, ghci, ocaml, iex, julia, sbcl, guile, erl",
		Why: "it runs when a console starts here"},
	{Names: []string{".gdbinit", ".lldbinit", ".gdbearlyinit"}, Program: "gdb, lldb",
		Why: "its commands run when a debugger starts here"},
	{Names: []string{".psqlrc", ".sqliterc", ".mongorc.js", ".mongoshrc.js", ".my.cnf", ".mylogin.cnf"},
		Program: "database consoles",
		Why:     "its commands run when a console starts"},

	// What sends secrets, or lets others in.
	{Names: []string{".ssh"}, Program: "ssh", Why: "settings name programs, and keys give others access"},
	{Names: []string{".netrc", "_netrc", ".curlrc", ".wgetrc", ".config/curlrc"}, Program: "curl, wget, git",
		Why: "it determines where names, passwords and requests are sent"},
	{Names: []string{".rhosts", ".shosts", ".forward", ".procmailrc", ".mailcap"}, Program: "rsh, mail",
		Why: "it gives others access, or names programs that are started"},
	{Names: []string{".gnupg", ".aws", ".azure", ".kube", ".docker/config.json", ".config/containers",
		".config/gcloud", ".terraformrc"},
		Program: "gpg, cloud tools", Why: "settings name programs that hand out credentials"},
}
