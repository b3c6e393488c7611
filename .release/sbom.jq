# From "go version -m -json PROGRAM..." of all programs of one system to a CycloneDX list of components. Nothing in it depends on
# when or where it is made. Usage: jq -n --arg version V --arg date D --arg target OS/ARCH -f sbom.jq PROGRAMS.json
def purl: "pkg:golang/\(.Path)@\(.Version)";
[inputs] as $programs
| [$programs[] | .Deps[]? | .Replace // .] | unique_by(.Path) as $modules
| {
  "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
  bomFormat: "CycloneDX",
  specVersion: "1.5",
  version: 1,
  metadata: {
    timestamp: $date,
    component: {
      type: "application", "bom-ref": "clawsh", name: "clawsh", version: $version,
      licenses: [{license: {id: "MIT"}}],
      properties: [{name: "target", value: $target}]
    }
  },
  components: (
    [$programs[] | {
      type: "application", "bom-ref": .Path, name: (.Path | split("/") | last), version: $version,
      licenses: [{license: {id: "MIT"}}],
      properties: [.Settings[] | select(.Key | IN("vcs.revision", "vcs.time", "GOOS", "GOARCH", "CGO_ENABLED", "-trimpath"))
        | {name: "go:build:\(.Key)", value: .Value}]
    }]
    + [{type: "platform", "bom-ref": "go", name: "go", version: ($programs[0].GoVersion | ltrimstr("go")),
        purl: "pkg:golang/std@\($programs[0].GoVersion | ltrimstr("go"))"}]
    + [$modules[] | {type: "library", "bom-ref": purl, name: .Path, version: .Version, purl: purl,
        properties: [{name: "go:sum", value: .Sum}]}]),
  dependencies: (
    [{ref: "clawsh", dependsOn: [$programs[].Path]}]
    + [$programs[] | {ref: .Path, dependsOn: (["go"] + [.Deps[]? | .Replace // . | purl])}])
}
