// SPDX-License-Identifier: Apache-2.0

// What Juju's own parser says of bundles.
//
// It reads as the client's `juju deploy` does: base and overlays are merged, then verified without charms, which
// is all that `--dry-run` verifies. Then it verifies the same with the charms' metadata: Juju meets what this finds
// only while it deploys. Constraints, storage and devices are read by other packages of Juju, and not here.
//
//	parser CHARMS < CASES
//
// CHARMS is a folder of charms, each with metadata.yaml and config.yaml. CASES is a JSON object: by name of the case,
// the files of the bundle and its overlays, in their order. The answers are one, too.
package main

import (
	"encoding/json"
	"errors"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"
	"sort"
	"strings"

	"github.com/juju/charm/v12"
	"gopkg.in/yaml.v2"
)

// module is the package whose version is told.
const module = "github.com/juju/charm/v12"

// verdict is what the parser says of one bundle. Nothing in it is empty where Juju takes the bundle.
type verdict struct {
	// Refused has the reasons without charms: nothing is deployed.
	Refused []string `json:"refused,omitempty"`
	// Ignored has what Juju names and does not read.
	Ignored []string `json:"ignored,omitempty"`
	// WithCharms has what is found in addition with the charms' metadata.
	WithCharms []string `json:"with-charms,omitempty"`
}

type answers struct {
	Version  string             `json:"version"`
	Verdicts map[string]verdict `json:"verdicts"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: parser CHARMS < CASES")
	}
	var cases map[string][]string
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		log.Fatalf("the cases: %v", err)
	}
	said := answers{Version: version(), Verdicts: map[string]verdict{}}
	for name, files := range cases {
		said.Verdicts[name] = judge(os.Args[1], files)
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		log.Fatal(err)
	}
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == module {
				return dependency.Version
			}
		}
	}
	return "unknown"
}

func judge(charms string, files []string) verdict {
	var said verdict
	var sources []charm.BundleDataSource
	for _, file := range files {
		source, err := charm.LocalBundleDataSource(file)
		if err != nil {
			said.Refused = reasons(err)
			return said
		}
		for _, part := range source.Parts() {
			if part.UnmarshallError != nil {
				said.Ignored = append(said.Ignored, part.UnmarshallError.Error())
			}
		}
		sources = append(sources, source)
	}
	bundle, err := charm.ReadAndMergeBundleData(sources...)
	if err == nil {
		err = bundle.VerifyLocal(sources[0].BasePath(), nil, nil, nil)
	}
	if err != nil {
		said.Refused = reasons(err)
		return said
	}
	known := map[string]charm.Charm{}
	for _, application := range bundle.Applications {
		found, err := charm.ReadCharmDir(filepath.Join(charms, nameOf(application.Charm)))
		if err != nil {
			log.Fatalf("%s: %v", strings.Join(files, ", "), err)
		}
		known[application.Charm] = found
	}
	for name, application := range bundle.Applications {
		if err := settle(known[application.Charm].Config(), name, application.Options); err != nil {
			said.WithCharms = append(said.WithCharms, name+": "+err.Error())
		}
		application.Options = nil
		// The space of all other endpoints, which the controller takes, and this function does not know.
		delete(application.EndpointBindings, "")
	}
	said.WithCharms = append(said.WithCharms, reasons(bundle.VerifyWithCharms(nil, nil, nil, known))...)
	sort.Strings(said.WithCharms)
	return said
}

// settle gives options to a charm as a deployment does: the client sends them as YAML, which the controller parses.
func settle(config *charm.Config, application string, options map[string]interface{}) error {
	sent, err := yaml.Marshal(map[string]interface{}{application: options})
	if err != nil {
		return err
	}
	_, err = config.ParseSettingsYAML(sent, application)
	return err
}

func nameOf(written string) string {
	if url, err := charm.ParseURL(written); err == nil {
		return url.Name
	}
	return filepath.Base(written)
}

func reasons(err error) []string {
	if err == nil {
		return nil
	}
	var all *charm.VerificationError
	if !errors.As(err, &all) {
		return []string{err.Error()}
	}
	var found []string
	for _, each := range all.Errors {
		found = append(found, each.Error())
	}
	sort.Strings(found)
	return found
}
