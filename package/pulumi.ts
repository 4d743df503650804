/**
 * `gatehouse-evm/pulumi`: the components of a deployment. Their target comes from `gatehouse-evm/pulumi/docker` or
 * `gatehouse-evm/pulumi/kubernetes`, so that a program loads only its own target's SDK.
 */
export { Gatehouse } from "#infra/components/gatehouse.ts";
export { Stack } from "#infra/stack-component/stack.ts";
export type { StackInputs } from "#infra/stack-component/stack-inputs.ts";
export { Node, type NodeServices } from "#infra/components/node.ts";
export { Service, type Placed } from "#infra/components/service.ts";
export { ConfigError, type ConfigProblem } from "#infra/config/config-problem.ts";
export type { StackConfig } from "#infra/config/config-schema.ts";
export type { DeploymentSecret } from "#infra/config/deployment-secret.ts";
export { deploymentSecret } from "#infra/config/pulumi-config.ts";
export type { Platform } from "#infra/platform.ts";
export type { BuiltService } from "#infra/services/built-service.ts";
export { facilitatorSpec, type FacilitatorArgs } from "#infra/services/facilitator-spec.ts";
export { nodeSpec, type NodeArgs } from "#infra/services/node-spec.ts";
export { pushgatewaySpec, type PushgatewayArgs } from "#infra/services/pushgateway-spec.ts";
export { resourceServerSpec, type ResourceServerArgs } from "#infra/services/resource-server-spec.ts";
export { sidecarSpec, type SidecarArgs } from "#infra/services/sidecar-spec.ts";
export { stackArgs, type StackArgs, type StackContext } from "#infra/services/stack-specs.ts";
export { parseConfig } from "#infra/stack-config.ts";
