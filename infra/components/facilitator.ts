import { ComponentResource, type ComponentResourceOptions, type Resource } from "@pulumi/pulumi";
import { facilitatorSpec, type FacilitatorArgs } from "../services/facilitator-spec.ts";
import type { Placed } from "./component-options.ts";
import { withoutProblems } from "./refuse-problems.ts";

/** Verifies and settles x402 payments; its ledger is kept, its key reaches it as a file. */
export class Facilitator extends ComponentResource {
  /** What has to be up before another service can use this one. */
  readonly ready: Resource;

  /** @throws {ConfigError} when the service would refuse its settings. */
  constructor(name: string, args: FacilitatorArgs & Placed, opts?: ComponentResourceOptions) {
    super("gatehouse:index:Facilitator", name, {}, opts);
    const { service } = withoutProblems({ service: facilitatorSpec(args) });
    this.ready = args.platform.deploy(service.spec, { parent: this, dependsOn: args.after ?? [] });
    this.registerOutputs({});
  }
}
