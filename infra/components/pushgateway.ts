import { ComponentResource, type ComponentResourceOptions, type Resource } from "@pulumi/pulumi";
import { pushgatewaySpec, type PushgatewayArgs } from "../services/pushgateway-spec.ts";
import type { Placed } from "./component-options.ts";
import { withoutProblems } from "./refuse-problems.ts";

/** Prometheus's Pushgateway: takes the metrics that nodes push, keeps them, and shows them to Prometheus. */
export class Pushgateway extends ComponentResource {
  /** What has to be up before another service can use this one. */
  readonly ready: Resource;

  constructor(name: string, args: PushgatewayArgs & Placed, opts?: ComponentResourceOptions) {
    super("gatehouse:index:Pushgateway", name, {}, opts);
    const { service } = withoutProblems({ service: pushgatewaySpec(args) });
    this.ready = args.platform.deploy(service.spec, { parent: this, dependsOn: args.after ?? [] });
    this.registerOutputs({});
  }
}
