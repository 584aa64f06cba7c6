// SPDX-License-Identifier: Apache-2.0

// A new Vault in memory: HashiCorp's own core and HTTP interface, without plugins, for recording what they answer.
//
//	server ADDRESS:PORT
package main

import (
	"log"
	"net/http"
	"os"

	"github.com/hashicorp/go-hclog"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: server ADDRESS:PORT")
	}
	logger := hclog.Default()
	storage, err := inmem.NewInmem(nil, logger)
	if err != nil {
		log.Fatal(err)
	}
	core, err := vault.NewCore(&vault.CoreConfig{Physical: storage, Logger: logger, DisableMlock: true})
	if err != nil {
		log.Fatal(err)
	}
	handler := vaulthttp.Handler(&vault.HandlerProperties{Core: core})
	log.Fatal(http.ListenAndServe(os.Args[1], handler))
}
