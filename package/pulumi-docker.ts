/** `gatehouse-evm/pulumi/docker`: a single Docker host as the target of a deployment. Requires `@pulumi/docker`. */
export { DockerHost, type DockerHostArgs } from "#infra/docker/docker-host.ts";
