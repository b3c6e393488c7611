package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// values checks each value of a table, and of the tables below it, by the tags of its key. Which says which element of
// a list it is in.
func (v *validator) values(table, which string, t reflect.Value) {
	for i := range t.NumField() {
		f, val := field{StructField: t.Type().Field(i)}, t.Field(i)
		f.key = join(table, f.name())
		switch val.Kind() {
		case reflect.Struct:
			v.values(f.key, which, val)
		case reflect.Map:
			for it := val.MapRange(); val.Type().Elem().Kind() == reflect.Struct && it.Next(); {
				v.values(f.key+"."+quoteDots(it.Key().String()), which, it.Value())
			}
		default:
			v.value(f, which, reflect.Indirect(val))
		}
	}
}

// element is the key of an element of a list of tables.
func element(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i+1) }

// quoteDots writes a name so that its dots separate nothing.
func quoteDots(name string) string { return strings.ReplaceAll(name, ".", `"."`) }

// value checks one value. The zero Value is a key that is not set.
func (v *validator) value(f field, which string, val reflect.Value) {
	want := f.want()
	if want == "" || !val.IsValid() {
		return
	}
	switch val.Kind() {
	case reflect.String:
		if !slices.Contains(strings.Split(want, "|"), val.String()) {
			v.problem(f.key, "%s%s: want %s", which, quote("", val.String()), f.wanted())
		}
	case reflect.Bool:
		if fmt.Sprint(val.Bool()) != want {
			v.problem(f.key, "%s%t: %s; remove this key", which, val.Bool(), f.Tag.Get("why"))
		}
	case reflect.Int, reflect.Int64:
		v.number(f, which, float64(val.Int()))
	case reflect.Float64:
		v.number(f, which, val.Float())
	}
}

func (v *validator) number(f field, which string, n float64) {
	low, high, zero := f.limits()
	if n >= low && n <= high || zero && n == 0 { // neither is NaN
		return
	}
	why := ""
	if strings.HasPrefix(f.key, "sandbox.") && low > 0 && n <= 0 {
		why = "no program starts without this limit; "
	}
	unit := f.unit()
	if unit != "" {
		unit += ", "
	}
	v.problem(f.key, "%s%s: %swant %s%s", which, strconv.FormatFloat(n, 'f', -1, 64), why, unit, f.wanted())
}
