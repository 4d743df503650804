import { ComponentResource, type ComponentResourceOptions, type Resource } from "@pulumi/pulumi";
import { resourceServerSpec, type ResourceServerArgs } from "../services/resource-server-spec.ts";
import type { Placed } from "./component-options.ts";
import { withoutProblems } from "./refuse-problems.ts";

/** Sells HTTP routes by x402 and forwards them to their upstream once paid. */
export class ResourceServer extends ComponentResource {
  /** What has to be up before another service can use this one. */
  readonly ready: Resource;

  /** @throws {ConfigError} when the service would refuse its settings. */
  constructor(name: string, args: ResourceServerArgs & Placed, opts?: ComponentResourceOptions) {
    super("gatehouse:index:ResourceServer", name, {}, opts);
    const { service } = withoutProblems({ service: resourceServerSpec(args) });
    this.ready = args.platform.deploy(service.spec, { parent: this, dependsOn: args.after ?? [] });
    this.registerOutputs({});
  }
}
