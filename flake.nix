{
  description = "The Kubernetes control plane in one small program";

  # flake.lock is written by `nix flake lock`. The Rust toolchain is the one of nixpkgs and has to be at least the rust-version of
  # Cargo.toml; rust-toolchain.toml applies to rustup only.
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      forEachSystem = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      manifest = (nixpkgs.lib.importTOML ./Cargo.toml).workspace.package;
    in
    {
      packages = forEachSystem (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "coracle";
          inherit (manifest) version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [
            "-p"
            "coracle-cli"
          ];
          # The tests need etcd, kubectl and a browser, and take minutes: `make test` runs them.
          doCheck = false;
          meta = {
            description = "The Kubernetes control plane in one small program";
            inherit (manifest) homepage;
            license = pkgs.lib.licenses.asl20;
            mainProgram = "coracle";
          };
        };
      });

      devShells = forEachSystem (pkgs: {
        default = pkgs.mkShell {
          packages = [
            pkgs.cargo
            pkgs.rustc
            pkgs.rustfmt
            pkgs.clippy
            pkgs.cargo-deny
            pkgs.mdbook
            pkgs.actionlint
            pkgs.etcd
            pkgs.kubectl
          ];
        };
      });

      formatter = forEachSystem (pkgs: pkgs.nixfmt-rfc-style);
    };
}
