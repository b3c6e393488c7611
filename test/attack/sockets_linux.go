package main

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// flagsOfSockets may be combined with each kind.
var flagsOfSockets = []int{0, unix.SOCK_CLOEXEC, unix.SOCK_NONBLOCK, unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK}

// sockets attempts every family and kind of socket, every pair that is not connected for good, and every way to an
// address.
func (w world) sockets() []attempt {
	tcp, local, abstract := os.Getenv("ATTACK_TCP"), os.Getenv("ATTACK_UNIX"), os.Getenv("ATTACK_ABSTRACT")
	all := []attempt{{"network: tcp", dial("tcp", tcp)}, {"network: udp", dial("udp", tcp)},
		{"network: unix socket", dial("unix", local)},
		{"network: abstract socket", dial("unix", "@"+abstract)},
		{"network: mptcp", socket(unix.AF_INET, unix.SOCK_STREAM, 262)},
		{"network: raw icmp", socket(unix.AF_INET, unix.SOCK_RAW, 1)},
		{"network: ping", socket(unix.AF_INET, unix.SOCK_DGRAM, 1)},
		{"network: sctp", socket(unix.AF_INET, unix.SOCK_SEQPACKET, 132)},
		{"network: udplite", socket(unix.AF_INET, unix.SOCK_DGRAM, 136)},
		{"network: dccp", socket(unix.AF_INET, 6, 33)}, {"network: smc", socket(43, unix.SOCK_STREAM, 0)}}
	for family := range 46 {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM} {
			all = append(all, attempt{fmt.Sprintf("network: socket of family %d, kind %d", family, kind),
				socket(family, kind, 0)})
		}
	}
	for protocol := range 23 {
		all = append(all, attempt{fmt.Sprintf("network: netlink %d", protocol),
			socket(unix.AF_NETLINK, unix.SOCK_RAW, protocol)})
	}
	for _, flags := range flagsOfSockets {
		for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_RDM, unix.SOCK_PACKET} {
			all = append(all, attempt{fmt.Sprintf("network: pair of kind %d, flags %#x", kind, flags),
				pair(unix.AF_UNIX, kind|flags, 0)})
		}
	}
	for _, family := range []int{unix.AF_UNSPEC, unix.AF_INET, unix.AF_INET6, unix.AF_TIPC, unix.AF_NETLINK,
		unix.AF_VSOCK} {
		all = append(all, attempt{fmt.Sprintf("network: pair of family %d", family), pair(family, unix.SOCK_STREAM, 0)})
	}
	for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		for where, address := range map[string]string{"named": os.Getenv("ATTACK_DGRAM"), "in the workspace": w.dir +
			"/dgram",
			"abstract": "@" + abstract + "-dgram"} {
			for way, send := range ways {
				all = append(all, attempt{fmt.Sprintf("network: %s to a socket %s over a pair of kind %d", way, where,
					kind), func() error { return send(kind, address) }})
			}
		}
	}
	return all
}

func pair(family, kind, protocol int) func() error {
	return func() error {
		fd, err := unix.Socketpair(family, kind, protocol)
		if err == nil {
			unix.Close(fd[0])
			unix.Close(fd[1])
		}
		return err
	}
}

// ways are how something is sent to an address over one end of a pair. They are possible if it arrives.
var ways = map[string]func(kind int, address string) error{
	"sendto":  func(kind int, address string) error { return toAddress(kind, address, sendTo) },
	"sendmsg": func(kind int, address string) error { return toAddress(kind, address, sendMsg) },
	"connect": func(kind int, address string) error {
		return toAddress(kind, address, func(fd int, a unix.Sockaddr) error { return unix.Connect(fd, a) })
	},
	"bind": func(kind int, address string) error {
		return toAddress(kind, address+"2", func(fd int, a unix.Sockaddr) error { return unix.Bind(fd, a) })
	},
	"connect after disconnecting": func(kind int, address string) error {
		return toAddress(kind, address, func(fd int, a unix.Sockaddr) error {
			unspec := [16]byte{}
			unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&unspec)), 16)
			return sendMsg(fd, a)
		})
	},
}

func toAddress(kind int, address string, send func(int, unix.Sockaddr) error) error {
	fd, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd[0])
	defer unix.Close(fd[1])
	return send(fd[0], &unix.SockaddrUnix{Name: address})
}

func sendTo(fd int, a unix.Sockaddr) error {
	return unix.Sendto(fd, []byte("reached"), unix.MSG_DONTWAIT, a)
}

// sendMsg sends with a name that no filter sees. What arrives at the other end of the pair has not gone to the name.
func sendMsg(fd int, a unix.Sockaddr) error {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return err
	}
	if _, err := unix.SendmsgN(fd, []byte("reached"), nil, a, unix.MSG_DONTWAIT); err != nil {
		return err
	}
	if kind == unix.SOCK_SEQPACKET {
		return unix.EISCONN // the name was ignored: the test looks at what arrived there
	}
	return nil
}
