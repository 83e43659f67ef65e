// A mutating webhook of Go's standard library: `webhook ADDRESS:PORT CERTIFICATE KEY`. Its patch is base64, as Go writes bytes.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
)

type review struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Request    *request  `json:"request,omitempty"`
	Response   *response `json:"response,omitempty"`
}

type request struct {
	UID    string `json:"uid"`
	Object struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	} `json:"object"`
}

type response struct {
	UID       string            `json:"uid"`
	Allowed   bool              `json:"allowed"`
	Status    map[string]string `json:"status,omitempty"`
	Patch     []byte            `json:"patch,omitempty"`
	PatchType *string           `json:"patchType,omitempty"`
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func answer(asked *request) *response {
	labels := asked.Object.Metadata.Labels
	if _, illegal := labels["illegal"]; illegal {
		return &response{UID: asked.UID, Status: map[string]string{"message": "Resource contained 'illegal' label"}}
	}
	if _, labelled := labels["admission"]; labelled {
		return &response{UID: asked.UID, Allowed: true}
	}
	var patch []operation
	if labels == nil {
		patch = append(patch, operation{"add", "/metadata/labels", map[string]string{}})
	}
	patch = append(patch, operation{"add", "/metadata/labels/admission", "modified-by-admission-controller"})
	encoded, err := json.Marshal(patch)
	if err != nil {
		log.Fatal(err)
	}
	kind := "JSONPatch"
	return &response{UID: asked.UID, Allowed: true, Patch: encoded, PatchType: &kind}
}

func main() {
	http.HandleFunc("/mutate", func(out http.ResponseWriter, in *http.Request) {
		var review review
		if err := json.NewDecoder(in.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(out, "not a review", http.StatusBadRequest)
			return
		}
		review.Response, review.Request = answer(review.Request), nil
		out.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(out).Encode(review); err != nil {
			log.Print(err)
		}
	})
	log.Fatal(http.ListenAndServeTLS(os.Args[1], os.Args[2], os.Args[3], nil))
}
