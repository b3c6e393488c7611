package tool

import (
	"errors"
	"fmt"
	"strings"
)

// canonicalHost returns the one spelling of a host name that is checked, resolved and sent: lower case, no final dot.
// IP addresses in any notation are refused: they belong to no domain.
func canonicalHost(host string) (string, error) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || len(host) > 253 {
		return "", errors.New("the host name is empty or too long")
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if !validLabel(label) {
			return "",
				fmt.Errorf("%q is not a host name (write international names as xn--…; IP addresses are not allowed)",
					host)
		}
	}
	// A last label that is a number is what makes inet_aton and browsers read an address: 127.1, 0x7f000001,
	// 2130706433.
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return "", fmt.Errorf("%q is an IP address, want a domain name", host)
	}
	return host, nil
}

func validLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	return strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// domainAllowed tells whether a canonical host is in a list of names and of "*.suffix" patterns. A pattern stands for
// the subdomains of the suffix, not for the suffix itself.
func domainAllowed(host string, allowed []string) bool {
	for _, a := range allowed {
		a = strings.ToLower(strings.TrimSuffix(a, "."))
		suffix, wild := strings.CutPrefix(a, "*")
		switch {
		case wild && len(suffix) > 1 && suffix[0] == '.':
			if strings.HasSuffix(host, suffix) && len(host) > len(suffix) {
				return true
			}
		case !wild && a != "" && host == a:
			return true
		}
	}
	return false
}
