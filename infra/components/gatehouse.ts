import { ComponentResource, type ComponentResourceOptions } from "@pulumi/pulumi";
import type { Platform } from "../platform.ts";
import { facilitatorSpec } from "../services/facilitator-spec.ts";
import { nodeSpec } from "../services/node-spec.ts";
import { postgresSpec } from "../services/postgres-spec.ts";
import { pushgatewaySpec } from "../services/pushgateway-spec.ts";
import { resourceServerSpec } from "../services/resource-server-spec.ts";
import { volumeSnapshotSpec } from "../services/volume-snapshot-spec.ts";
import { restoreSpec } from "../services/restore-spec.ts";
import { sidecarSpec } from "../services/sidecar-spec.ts";
import type { StackArgs } from "../services/stack-specs.ts";
import { upstreamSpec } from "../services/upstream-spec.ts";
import { Facilitator } from "./facilitator.ts";
import { Node } from "./node.ts";
import { Postgres } from "./postgres.ts";
import { Pushgateway } from "./pushgateway.ts";
import { withoutProblems } from "./refuse-problems.ts";
import { ResourceServer } from "./resource-server.ts";
import { Upstream } from "./upstream.ts";

/** The whole system: a guarded node, its Pushgateway, a facilitator and a resource server. */
export class Gatehouse extends ComponentResource {
  /** @throws {ConfigError} with the problems of all services at once, before anything is made. */
  constructor(name: string, args: StackArgs & Readonly<{ platform: Platform }>, opts?: ComponentResourceOptions) {
    super("gatehouse:index:Gatehouse", name, {}, opts);
    const built = withoutProblems({
      node: nodeSpec(args.node),
      sidecar: sidecarSpec(args.sidecar),
      restore: args.restore && restoreSpec(args.restore),
      snapshot: args.volumeSnapshots && volumeSnapshotSpec(args.volumeSnapshots),
      pushgateway: args.pushgateway && pushgatewaySpec(args.pushgateway),
      postgres: args.postgres && postgresSpec(args.postgres),
      facilitator: facilitatorSpec(args.facilitator),
      resourceServer: resourceServerSpec(args.resourceServer),
      upstream: args.upstream === undefined ? undefined : upstreamSpec(args.upstream),
    });
    const { platform } = args;
    platform.allowEdges(Object.values(built).flatMap((service) => service?.spec ?? []));
    const here = { parent: this };
    const pushgateway =
      args.pushgateway && new Pushgateway(`${name}-pushgateway`, { ...args.pushgateway, platform }, here);
    const node = new Node(
      `${name}-node`,
      {
        node: args.node,
        sidecar: args.sidecar,
        restore: args.restore,
        volumeSnapshots: args.volumeSnapshots,
        platform,
        after: pushgateway === undefined ? [] : [pushgateway.ready],
      },
      here,
    );
    const postgres = args.postgres && new Postgres(`${name}-postgres`, { ...args.postgres, platform }, here);
    const ledgers = postgres === undefined ? [] : [postgres.ready];
    const facilitator = new Facilitator(
      `${name}-facilitator`,
      { ...args.facilitator, platform, after: [node.ready, ...ledgers] },
      here,
    );
    const upstream =
      args.upstream === undefined ? undefined : new Upstream(`${name}-upstream`, { ...args.upstream, platform }, here);
    new ResourceServer(
      `${name}-resource-server`,
      {
        ...args.resourceServer,
        platform,
        after: [facilitator.ready, ...ledgers, ...(upstream === undefined ? [] : [upstream.ready])],
      },
      here,
    );
    this.registerOutputs({});
  }
}
