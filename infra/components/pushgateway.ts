import { ComponentResource, type ComponentResourceOptions, type Resource } from "@pulumi/pulumi";
import type { CommonArgs } from "../spec/built-service.ts";
import { pushgatewaySpec } from "../spec/pushgateway-spec.ts";
import type { Placed } from "./component-options.ts";
import { withoutProblems } from "./refuse-problems.ts";

/** Takes the metrics that nodes push, and shows them to Prometheus. */
export class Pushgateway extends ComponentResource {
  /** What has to be up before another service can use this one. */
  readonly ready: Resource;

  /** @throws {ConfigError} when the service would refuse its settings. */
  constructor(name: string, args: CommonArgs & Placed, opts?: ComponentResourceOptions) {
    super("gatehouse:index:Pushgateway", name, {}, opts);
    const { service } = withoutProblems({ service: pushgatewaySpec(args) });
    this.ready = args.platform.deploy(service.spec, { parent: this, dependsOn: args.after ?? [] });
    this.registerOutputs({});
  }
}
