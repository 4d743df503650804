#!/bin/sh
# Builds both images in a clone, with Docker and nothing else: npm runs in a container. Arguments are passed to the build that downloads,
# e.g. `sh infra/images/build.sh --network host`. The images get the names that the compose files expect, or GATEHOUSE_IMAGE and
# DEVNET_IMAGE. They are built for the engine's architecture, or for DOCKER_DEFAULT_PLATFORM: linux/amd64 or linux/arm64.
set -eu
cd "$(dirname "$0")/../.."

base="${BASE_IMAGE:-node:26-bookworm-slim}" # needs npm and tar, too
gatehouse="${GATEHOUSE_IMAGE:-gatehouse:local}"
devnet="${DEVNET_IMAGE:-gatehouse-devnet:local}"
dependencies=gatehouse-dependencies:local
platform="${DOCKER_DEFAULT_PLATFORM:-linux/$(docker version --format '{{.Server.Arch}}')}"

build() {
  docker build --platform "$platform" "$@"
}

# No directory is mounted, so the engine may be on another machine or belong to another user.
tar -cf - package.json package-lock.json .npmrc infra/images |
  build --file infra/images/dependencies.Dockerfile --build-arg "BASE_IMAGE=$base" --tag "$dependencies" "$@" -
rm -rf .gatehouse/images
docker run --rm --platform "$platform" --network none "$dependencies" | tar -xpf -
build --file infra/images/gatehouse.Dockerfile --build-arg "BASE_IMAGE=$base" --tag "$gatehouse" .
build --file infra/images/devnet.Dockerfile --build-arg "GATEHOUSE_IMAGE=$gatehouse" --tag "$devnet" .
printf '%s and %s are built\n' "$gatehouse" "$devnet"
