/** `gatehouse-evm/pulumi/docker`: one Docker host as the target of a deployment. Needs `@pulumi/docker`. */
export { DockerHost, type DockerHostArgs } from "#infra/docker/docker-host.ts";
