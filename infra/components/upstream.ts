import { ComponentResource, type ComponentResourceOptions, type Resource } from "@pulumi/pulumi";
import type { CommonArgs } from "../services/built-service.ts";
import { upstreamSpec } from "../services/upstream-spec.ts";
import type { Placed } from "./component-options.ts";
import { withoutProblems } from "./refuse-problems.ts";

/** Something to sell while developing: `GET /data`. */
export class Upstream extends ComponentResource {
  /** What has to be up before another service can use this one. */
  readonly ready: Resource;

  /** @throws {ConfigError} when the service would refuse its settings. */
  constructor(name: string, args: CommonArgs & Placed, opts?: ComponentResourceOptions) {
    super("gatehouse:index:Upstream", name, {}, opts);
    const { service } = withoutProblems({ service: upstreamSpec(args) });
    this.ready = args.platform.deploy(service.spec, { parent: this, dependsOn: args.after ?? [] });
    this.registerOutputs({});
  }
}
