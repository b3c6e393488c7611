package config

import "testing"

func TestCost(t *testing.T) {
	p := places(t,
		"[[usage.prices]]\nmodel = \"big-2\"\nprovider = \"local\"\ninput_per_million = 1.0\noutput_per_million = 2.0\n"+
			"[[usage.prices]]\nmodel = \"big-*\"\ninput_per_million = 10.0\noutput_per_million = 0.0\n")
	c, err := Load(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		provider, model string
		want            float64
		known           bool
	}{{"local", "big-2", 5, true}, {"other", "big-2", 10, true}, {"other", "big-", 10, true},
		{"local", "big", 0, false}, {"local", "small", 0, false}} {
		if cost, known := c.Cost(x.provider, x.model, 1_000_000, 2_000_000); cost != x.want || known != x.known {
			t.Errorf("%s at %s: %g, %t; want %g, %t", x.model, x.provider, cost, known, x.want, x.known)
		}
	}
}

func TestPricesThatAreRefused(t *testing.T) {
	for _, bad := range []string{"[usage]\ncurrency = \"\"\n", "[[usage.prices]]\ninput_per_million = 1.0\n",
		"[[usage.prices]]\nmodel = \"m\"\nprovider = \"absent\"\n",
		"[[usage.prices]]\nmodel = \"m\"\ninput_per_million = -1.0\n",
		"[[usage.prices]]\nmodel = \"m\"\noutput_per_million = nan\n",
		"[[usage.prices]]\nmodel = \"m\"\nprice = 1.0\n"} {
		if _, err := Load(places(t, bad)); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}
