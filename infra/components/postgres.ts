import { ComponentResource, type ComponentResourceOptions, type Resource } from "@pulumi/pulumi";
import { postgresSpec, type PostgresArgs } from "../services/postgres-spec.ts";
import type { Placed } from "./component-options.ts";
import { withoutProblems } from "./refuse-problems.ts";

/** A PostgreSQL server for the ledgers of one Docker host; on Kubernetes they take a database by URL. */
export class Postgres extends ComponentResource {
  /** What has to be up before a service can keep its ledger there. */
  readonly ready: Resource;

  constructor(name: string, args: PostgresArgs & Placed, opts?: ComponentResourceOptions) {
    super("gatehouse:index:Postgres", name, {}, opts);
    const { service } = withoutProblems({ service: postgresSpec(args) });
    this.ready = args.platform.deploy(service.spec, { parent: this, dependsOn: args.after ?? [] });
    this.registerOutputs({});
  }
}
