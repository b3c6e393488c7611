package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Encode returns v as JSON on one line, without a newline. Invalid UTF-8 in strings becomes U+FFFD: what a tool printed
// must always be reportable.
func Encode(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
}

// Decode decodes one JSON value strictly: names must match exactly; unknown names, duplicate names and data after the
// value are errors.
func Decode(raw []byte, v any) error {
	return explain(json.Unmarshal(raw, v, json.RejectUnknownMembers(true)))
}

// DecodeOpen is like Decode but allows unknown names: for records and for JSON of other programs, which may add
// fields.
func DecodeOpen(raw []byte, v any) error { return explain(json.Unmarshal(raw, v)) }

// explain reduces the codec's message to where and what, without its prefix and without Go type names.
func explain(err error) error {
	var sem *json.SemanticError
	if errors.As(err, &sem) {
		at := string(sem.JSONPointer)
		if errors.Is(err, json.ErrUnknownName) {
			return fmt.Errorf("unknown field %q", strings.TrimPrefix(at, "/"))
		}
		want := "another type"
		if sem.GoType != nil {
			want = jsonType(sem.GoType.Kind().String())
		}
		if at == "" {
			return fmt.Errorf("want %s", want)
		}
		return fmt.Errorf("field %q: want %s", strings.TrimPrefix(at, "/"), want)
	}
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		return fmt.Errorf("invalid JSON: %s at byte %d", printable(syn.Err), syn.ByteOffset)
	}
	return err
}

func jsonType(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "an integer in range"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "bool":
		return "true or false"
	case kind == "slice", kind == "array":
		return "an array"
	case kind == "struct", kind == "map":
		return "an object"
	}
	return "a " + kind
}

// Canonical returns the canonical form of a JSON value as RFC 8785 defines it. A number that this form would change
// is ErrNumber, so that two different values never share a hash: integers beyond ±(2^53-1), 1e400, and fractions with
// more digits than a double holds.
func Canonical(raw []byte) ([]byte, error) {
	if err := CheckNumbers(raw); err != nil {
		return nil, err
	}
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Canonicalize(); err != nil {
		return nil, explain(err)
	}
	return v, nil
}

// Hash returns the SHA-256 of Canonical(raw) in lower-case hex.
func Hash(raw []byte) (string, error) {
	c, err := Canonical(raw)
	if err != nil {
		return "", err
	}
	return HashBytes(c), nil
}

// HashBytes returns the SHA-256 of b in lower-case hex.
func HashBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// CheckNumbers returns ErrNumber for a JSON value with a number that a double cannot represent exactly (I-JSON, RFC
// 7493 §2.2).
func CheckNumbers(raw []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		tok, err := d.ReadToken()
		if err != nil {
			if d.InputOffset() > 0 && d.StackDepth() == 0 && len(bytes.TrimSpace(raw[d.InputOffset():])) == 0 {
				return nil
			}
			return explain(err)
		}
		if tok.Kind() == '0' && !exact(tok.String()) {
			return fmt.Errorf("%w: at byte %d", ErrNumber, d.InputOffset())
		}
	}
}

func exact(literal string) bool {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || math.Abs(f) > 1<<53-1 && f == math.Trunc(f) {
		return false
	}
	return decimal(literal) == decimal(strconv.FormatFloat(f, 'e', -1, 64))
}

// decimal is a number's value as significant digits and a power of ten.
func decimal(s string) string {
	s = strings.TrimPrefix(s, "-")
	mantissa, exp, _ := strings.Cut(strings.ToLower(s), "e")
	e, _ := strconv.Atoi(exp)
	whole, frac, _ := strings.Cut(mantissa, ".")
	e -= len(frac)
	digits := strings.TrimLeft(whole+frac, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	return short + "e" + strconv.Itoa(e+len(digits)-len(short))
}

// JQValue decodes a JSON value into what gojq accepts: objects, arrays, strings, bools, nil, and numbers as int,
// *big.Int or float64, so that integers keep all their digits.
func JQValue(raw []byte) (any, error) {
	var v any
	err := json.Unmarshal(raw, &v,
		json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, out *any) error {
			if d.PeekKind() != '0' {
				return errors.ErrUnsupported
			}
			tok, err := d.ReadToken()
			if err != nil {
				return err
			}
			*out, err = jqNumber(tok.String())
			return err
		})))
	return v, explain(err)
}

func jqNumber(s string) (any, error) {
	if !strings.ContainsAny(s, ".eE") {
		if n, err := strconv.Atoi(s); err == nil {
			return n, nil
		}
		if n, ok := new(big.Int).SetString(s, 10); ok {
			return n, nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, err
	}
	return f, nil
}
