package secret

// shape is how a kind of secret looks: one of the anchors, and behind it at least min bytes of class that check agrees
// with, judged by the first window of them at most. Checks are monotone: what holds for a part holds for the whole, so
// that a text that was redacted once stays as it is.
type shape struct {
	kind    string
	anchors []string
	class   *class
	min     int
	window  int
	check   func([]byte) bool
	// keep shows the anchor: it is the context of the secret, not a part of it.
	keep bool
	// inside means that the anchor may stand behind a letter or digit.
	inside bool
	// block means that it ends with the end line of a key block.
	block bool
	// special finds the secret that belongs to the anchor at a place: text[from:to] and what follows of class; to < 0
	// for none.
	special func(text []byte, low, at int, final bool) (from, to int, more bool)
	// like and unlike are examples; ~ stands for letters and digits of both cases, # for digits.
	like, unlike []string
	anchor       string // one of anchors, in the index
}

var (
	wordClass   = set("a-zA-Z0-9_")
	tokenClass  = set("a-zA-Z0-9_\x2d")
	dottedClass = set("a-zA-Z0-9_.\x2d")
	alnumClass  = set("a-zA-Z0-9")
	upperClass  = set("A-Z0-9")
	hexClass    = set("a-f0-9")
	base64Class = set("a-zA-Z0-9+/=")
	signClass   = set("a-zA-Z0-9+/=%_\x2d")
	headerClass = set("a-zA-Z0-9+/=._~\x2d")
	plainClass  = set("!#$&()*+,\x2d./0-9:;=?@A-Z^_`a-z|~%")
)

// shapes is the table, in the order in which shapes with the same beginning are tried.
func shapes() []shape { return append(tokens(), contexts()...) }

// tokens are shapes that are secrets wherever they stand.
func tokens() []shape {
	return []shape{
		{kind: "anthropic key", anchors: []string{"sk-ant-"}, class: &tokenClass, min: 20,
			like: []string{"sk-ant-api03-~~~~~~~~~~~~~~~~~~~~~~~~"}, unlike: []string{"sk-ant-hill"}},
		{kind: "openai key", anchors: []string{"sk-proj-", "sk-svcacct-", "sk-admin-"}, class: &tokenClass, min: 20,
			check: mixedOrDigits,
			like:  []string{"sk-proj-~~~~~~~~~~~~~~~~~~~~~~~~~~"}, unlike: []string{"sk-proj-name"}},
		{kind: "api key", anchors: []string{"sk-"}, class: &tokenClass, min: 20, window: 48, check: mixedOrDigits,
			like: []string{"sk-~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~",
				"sk-or-v1-0123abcd0123abcd0123abcd"},
			unlike: []string{"sk-fading-circle-container-item", "task-0123456789abcdefABCDEF0123", "sk-SK"}},
		{kind: "github token", anchors: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, class: &wordClass, min: 30,
			like:   []string{"ghp_~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~", "gho_~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"},
			unlike: []string{"ghp_short", "xghp_~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"}},
		{kind: "github token", anchors: []string{"github_pat_"}, class: &wordClass, min: 22,
			like: []string{"github_pat_~~~~~~~~~~~~~~~~~~~~~~_~~~~~~~~~~~~~~~~"}, unlike: []string{"github_pat_name"}},
		{kind: "gitlab token", anchors: []string{"glpat-", "glptt-", "gldt-", "glrt-", "glcbt-"}, class: &dottedClass,
			min:  20,
			like: []string{"glpat-~~~~~~~~~~~~~~~~~~~~"}, unlike: []string{"glpat-none"}},
		{kind: "slack token", anchors: []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-"},
			class: &dottedClass, min: 16, check: digits(4),
			like:   []string{"xoxb-####-####-~~~~~~~~", "xapp-1-~~~~-####-~~~~~~~~"},
			unlike: []string{"xoxb-example-of-a-name"}},
		{kind: "aws key id", anchors: []string{"AKIA", "ASIA"}, class: &upperClass, min: 16,
			like:   []string{"AKIA0A1B2C3D4E5F6G7H", "ASIA0A1B2C3D4E5F6G7H"},
			unlike: []string{"AKIA", "AKIAabcdabcdabcdabcd", "xAKIA0A1B2C3D4E5F6G7H"}},
		{kind: "google api key", anchors: []string{"AIza"}, class: &tokenClass, min: 35,
			like: []string{"AIza~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"}, unlike: []string{"AIzawa"}},
		{kind: "google oauth token", anchors: []string{"ya29.", "GOCSPX-"}, class: &dottedClass, min: 24,
			check: digits(1), like: []string{"ya29.~~~~~~~~~~~~~~~~~~~~~~~~~~~~", "GOCSPX-~~~~~~~~~~~~~~~~~~~~~~~~"},
			unlike: []string{"ya29.x"}},
		{kind: "stripe key", anchors: []string{"sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"},
			class: &alnumClass, min: 16,
			like:   []string{"sk_live_~~~~~~~~~~~~~~~~~~~~~~~~", "rk_live_~~~~~~~~~~~~~~~~"},
			unlike: []string{"sk_live_mode", "task_live_~~~~~~~~~~~~~~~~~~~~~~~~"}},
		{kind: "npm token", anchors: []string{"npm_"}, class: &alnumClass, min: 36,
			like:   []string{"npm_~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"},
			unlike: []string{"npm_config_registry", "npm_lifecycle_event"}},
		{kind: "pypi token", anchors: []string{"pypi-AgE"}, class: &tokenClass, min: 40,
			like: []string{"pypi-AgE~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"}, unlike: []string{"pypi-AgE"}},
		{kind: "json web token", anchors: []string{"eyJ"}, class: &dottedClass, special: webToken,
			like:   []string{"eyJ~~~~~~~~~~~~~~~~.eyJ~~~~~~~~~~~~~~.~~~~~~~~~~~~~~"},
			unlike: []string{"eyJ~~~~~~~~~~~~~~~~", "eyJ~~~~.png"}},
		{kind: "private key", anchors: []string{"-----BEGIN "}, special: keyBlock, inside: true, block: true,
			like: []string{"-----BEGIN OPENSSH PRIVATE KEY-----\n~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n~~~~~~==\n-----END OPENSSH PRIVATE KEY-----",
				`-----BEGIN PRIVATE KEY-----\n~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n-----END PRIVATE KEY-----`,
				"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"},
			unlike: []string{"-----BEGIN PUBLIC KEY-----\n~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n-----END PUBLIC KEY-----",
				"a file that starts with -----BEGIN PRIVATE KEY----- is one; [more]",
				"-----BEGIN CERTIFICATE-----\n~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"}},
		{kind: "age secret key", anchors: []string{"AGE-SECRET-KEY-1"}, class: &upperClass, min: 40,
			like:   []string{"AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ"},
			unlike: []string{"AGE-SECRET-KEY-1"}},
		{kind: "hugging face token", anchors: []string{"hf_"}, class: &alnumClass, min: 30,
			like: []string{"hf_~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"}, unlike: []string{"hf_hub_download"}},
		{kind: "sendgrid key", anchors: []string{"SG."}, class: &dottedClass, min: 40, window: 70, check: twoParts,
			like:   []string{"SG.~~~~~~~~~~~~~~~~~~~~~~.~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"},
			unlike: []string{"SG.png", "SG.a.b.c"}},
		{kind: "telegram token", anchors: []string{":AA"}, class: &tokenClass, special: telegram, inside: true,
			like:   []string{"123456789:AA~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"},
			unlike: []string{"x:AA~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~", "123456789:AA~~~"}},
		{kind: "digitalocean token", anchors: []string{"dop_v1_", "doo_v1_", "dor_v1_"}, class: &hexClass, min: 60,
			like:   []string{"dop_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
			unlike: []string{"dop_v1_0123"}},
	}
}

// contexts are shapes that are secrets by what stands before or around them, which stays.
func contexts() []shape {
	return []shape{
		{kind: "slack webhook", anchors: []string{"hooks.slack.com/services/"}, class: &base64Class, min: 20,
			keep: true, inside: true,
			like:   []string{"hooks.slack.com/services/T~~~~~~~~/B~~~~~~~~/~~~~~~~~~~~~"},
			unlike: []string{"hooks.slack.com/services/"}},
		{kind: "aws secret key", anchors: []string{"aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "SecretAccessKey",
			"secretAccessKey", "aws_secret_key"}, class: &base64Class, special: assigned(40),
			like: []string{"aws_secret_access_key = ~~~~~~~~~~/~~~~~~~~~~~~~~~~~~+~~~~~~~~~~",
				`"SecretAccessKey": "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"`},
			unlike: []string{"aws_secret_access_key = none", "aws_secret_access_key"}},
		{kind: "authorization", anchors: []string{"Authorization", "authorization", "AUTHORIZATION"},
			class: &headerClass, special: authorization,
			like: []string{"Authorization: Bearer ~~~~~~~~~~", `"authorization":"Basic ~~~~~~~~~~=="`,
				"Authorization: token ~~~~~~~~~~"},
			unlike: []string{"Authorization: Bearer $TOKEN", "Authorization: Bearer <token>",
				"authorization is needed"}},
		{kind: "bearer token", anchors: []string{"Bearer ", "bearer "}, class: &headerClass, min: 20, window: 48,
			check: mixedOrDigits, keep: true,
			like:   []string{"Bearer ~~~~~~~~~~~~~~~~~~~~~~"},
			unlike: []string{"Bearer authentication-and-authorization"}},
		{kind: "url password", anchors: []string{"://"}, special: urlPassword, inside: true,
			like:   []string{"https://user:~~~~~~~~@host.example/", "redis://:~~~~~~@localhost:6379"},
			unlike: []string{"https://host:8080/a@b", "http://user@host/", "https://u:$PASS@host", "http://[::1]:80/"}},
		{kind: "azure key", anchors: []string{"AccountKey=", "SharedAccessKey="}, class: &base64Class, min: 40,
			keep:   true,
			like:   []string{"AccountKey=~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~=="},
			unlike: []string{"AccountKey=x"}},
		{kind: "azure signature", anchors: []string{"&sig=", "?sig="}, class: &signClass, min: 40, keep: true,
			inside: true,
			like:   []string{"&sig=~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~%3D"}, unlike: []string{"&sig=1"}},
		{kind: "netrc password", anchors: []string{"machine"}, class: &plainClass, special: netrc,
			like: []string{"machine api.example.com login me password ~~~~",
				"machine localhost\n  login me\n  password ~~~~"},
			unlike: []string{"machine learning login password reset", "machine api.example.com login me"}},
		{kind: "clawsh key", anchors: []string{"clawsh-"}, class: &base64Class, special: ownKey,
			like:   []string{"clawsh-permit-key-v1 ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~="},
			unlike: []string{"clawsh-permit-pub-v1 ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~=", "clawsh-workspace"}},
	}
}
