/**
 * `gatehouse-evm/pulumi`: the components of a deployment. The target of a `Service` comes from `gatehouse-evm/pulumi/docker` or
 * `gatehouse-evm/pulumi/kubernetes`, so that a program loads only its own target's SDK.
 */
export { Stack } from "#infra/stack-component/stack.ts";
export type { StackInputs } from "#infra/stack-component/stack-inputs.ts";
export { Service, type ServicePlacement } from "#infra/components/service.ts";
export { ConfigError, type ConfigProblem } from "#infra/config/config-problem.ts";
export type { DeploymentSecret } from "#infra/config/deployment-secret.ts";
export { deploymentSecret } from "#infra/config/pulumi-config.ts";
export type { Platform } from "#infra/platform.ts";
export type { BuiltService } from "#infra/services/built-service.ts";
export { facilitatorSpec, type FacilitatorArgs } from "#infra/services/facilitator-spec.ts";
