package envelope

import "github.com/go-json-experiment/json/jsontext"

var allowInvalidUTF8 = jsontext.AllowInvalidUTF8(true)
