package policy

import (
	"os"
	"strings"
	"testing"

	"clawsh/lib/config"
)

// A forbidden command is one under any name: by links, links to links, a copy, in any wrapper.
func TestForbiddenUnderAnotherName(t *testing.T) {
	p := policyIn(t, "full", func(c *config.Config) {
		c.Security.AllowedCommands = append(c.Security.AllowedCommands,
			"env", "sh")
	})
	rm, err := os.ReadFile("/bin/rm")
	if err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"x": "/bin/rm", "y": "x", "sub/z": "../y", "list": "/bin/ls", "d": "/bin"} {
		if err := os.Symlink(to, p.root+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(p.root+"/copy", rm, 0o700)
	os.WriteFile(p.root+"/other", append(rm, 0), 0o700)
	for script, want := range map[string]bool{
		"./x a": true, "./y a": true, "sub/z a": true, "./copy a": true, "d/rm a": true, "'./x' a": true,
		"env ./x a": true, "env -i ./y a": true, "nice ./copy a": true, "sh -c './x a'": true, "eval ./x a": true,
		"find . -exec ./x {} +": true,
		"ls | xargs ./x":        true, "timeout 1 sub/../sub/z a": true, "cd sub && ./z a": true, "a=./x; $a b": true,
		"a=./xy; ${a%y} b": true, "exec ./x a": true, "echo './x a' | sh": true, "sh <<E\n./x a\nE": true,
		"$(./x a)": true, "x() { ./x a; }; x": true,
		"./list": false, "./other a": false, "x a": false, "echo ./x": false, "cat copy": false,
	} {
		if f := p.script(script, newEffort()); f.rule == "command.forbidden" != want {
			t.Errorf("%q: %+v", script, f)
		}
	}
	for _, argv := range [][]string{{p.root + "/x", "a"}, {p.root + "/sub/z", "a"}, {p.root + "/copy"},
		{"/usr/bin/env", "./x"}} {
		if p.Exec(argv) == nil {
			t.Errorf("%q starts", argv)
		}
	}
	if err := p.Exec([]string{p.root + "/other"}); err != nil {
		t.Error(err)
	}
}

// What stops the machine is blocked by all its names, and removing a home is removing everything, where rm is allowed.
func TestMachineAndHome(t *testing.T) {
	p := policyIn(t, "full", func(c *config.Config) {
		c.Security.ForbiddenCommands, c.Security.WorkspaceOnly = nil, false
		c.Security.AllowedCommands = append(c.Security.AllowedCommands, "rm")
	})
	var stop []string
	for _, verb := range strings.Fields("reboot poweroff halt kexec soft-reboot suspend hibernate rescue emergency") {
		for _, form := range []string{"systemctl V", "systemctl --force V", "systemctl -f -f V", "/bin/systemctl V",
			"systemctl V --no-wall", "sudo systemctl V", "sh -c 'systemctl V'", "env systemctl V", "loginctl V",
			"systemctl 'V'", "echo systemctl V | sh", "SYSTEMCTL V"} {
			stop = append(stop, strings.ReplaceAll(form, "V", verb))
		}
	}
	stop = append(stop, "shutdown", "shutdown -h now", "/sbin/shutdown now", "reboot", "reboot -f", "halt", "poweroff",
		"init 0", "init 6", "telinit 6", "/sbin/init 0", "systemctl isolate reboot.target",
		"systemctl start poweroff.target", "systemctl isolate runlevel6.target",
		"busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager PowerOff b 0",
		"dbus-send --system --dest=org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager.Reboot boolean:false", "kexec -e", "rtcwake -m off -s 5", "pm-suspend", "openrc-shutdown -p now")
	for _, flags := range []string{"-rf", "-r", "-fR", "--recursive", "-r -f --"} {
		for _, place := range []string{`"$HOME"`, "$HOME", "${HOME}", `"${HOME}"`, `"$HOME/"`, "$HOME/*", `"$HOME"/*`,
			`"$HOME"/.*`, "${HOME:?}", "${HOME%/}/*", "~", "~/", "~/*", "~/.", "~root", "~root/*", "/home/x",
			"/home/x/", "/home/x/*", "/home", "/home/*", "/Users/x", "/root", "/root/*", "/", "/*", "//", "/.", "/etc",
			"/usr/*",
			".", "./", "./*", "*", "..", "../..", "../../*", `"$PWD"`, "$PWD/*", "a ~", "sub/..", "a/../..", p.root,
			p.root + "/", p.root + "/*", `"$HOME/.."`, "~/..", "{/,a}"} {
			if flags == "-r -f --" && strings.HasPrefix(place, "{") {
				continue
			}
			stop = append(stop, "rm "+flags+" "+place)
		}
	}
	for _, script := range stop {
		if f := p.script(script, newEffort()); !f.blocked {
			t.Errorf("%q: %+v", script, f)
		}
	}
	for _, script := range []string{"rm -rf sub", "rm -rf ./sub/", "rm -rf build/.cache", "rm a.txt", "rm -rf *.o",
		"systemctl status x", "systemctl list-units", "systemctl is-active reboot-notifier", "init db", "busctl list",
		"rm -rf \"$PWD/sub\"", "rm -rf sub/deep/.."} {
		if f := p.script(script, newEffort()); f.blocked {
			t.Errorf("%q: %+v", script, f)
		}
	}
}
