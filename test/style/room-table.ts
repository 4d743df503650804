import { formatTable, replaceMarkedSection } from "#daemon/markdown.ts";

/**
 * One room, a top-level directory: its purpose, and the files of other rooms that it may import, as globs from the
 * root.
 */
export type Room = Readonly<{ what: string; mayImport: readonly string[] }>;

/**
 * Every room, lowest first: a room imports only from rooms above it here. Names a whole room if all of it is public,
 * otherwise single files. Give a reason with each new line: others build on an existing edge.
 */
export const roomTable: Readonly<Record<string, Room>> = {
  daemon: {
    what: "What every long-running process needs: settings, HTTP listeners, SQL stores, log, metrics, clock, start and stop",
    mayImport: ["package.json"],
  },
  x402: {
    what: "The schemes of x402: how a payment by each is read, named, priced, signed, verified and settled; reasons and answers",
    mayImport: [],
  },
  node: {
    what: "Facts about the node: versions, `node.conf`, key names, PruneInfo, and `gatehouse config lint`",
    mayImport: ["daemon/**"],
  },
  status: {
    what: "The reported state of a node: conditions and their reasons, the verdict, events, charts; every service's page",
    mayImport: ["daemon/**"],
  },
  health: {
    what: "Watches of a node's RPC, references, WebSocket and disk, and of the process itself",
    mayImport: ["daemon/**", "status/**"],
  },
  gateway: {
    what: "The JSON-RPC gateway, inside a sidecar or alone (`gatehouse gateway`)",
    mayImport: ["daemon/**", "status/**", "health/**"],
  },
  "engine-proxy": {
    what: "Holds the Docker Engine's socket for a sidecar and lets through three calls about one container",
    mayImport: ["daemon/**"],
  },
  sidecar: {
    what: "Keeps one node as desired: configuration, pruning, restarts, volume; composes health and gateway; status page",
    mayImport: [
      "daemon/**",
      "node/**",
      "status/**",
      "health/**",
      "gateway/guarded-node.ts",
      "gateway/settings/*.ts",
      // The page of a gateway alone, which a sidecar extends.
      "gateway/page/*.ts",
    ],
  },
  facilitator: {
    what: "Verifies x402 payments and settles them on the chain",
    // service-page: draws its page as a node's. rate-limiter: sellers' rates are counted like those of the gateway's
    // callers.
    mayImport: ["daemon/**", "x402/**", "status/{status-api,page/service-page}.ts", "gateway/limits/rate-limiter.ts"],
  },
  "resource-server": {
    what: "Sells routes over x402 and forwards paid requests to their upstream",
    mayImport: [
      "daemon/**",
      "x402/**",
      // chain/settings: a network is configured as a facilitator's.
      "facilitator/{facilitator,chain/settings}.ts",
      "status/{status-api,page/service-page}.ts",
    ],
  },
  client: {
    what: "Pays: a `fetch` that handles 402, and `gatehouse pay`",
    mayImport: ["x402/**"],
  },
  devnet: {
    what: "A node to develop against, a stand-in for the Pushgateway, and a sample upstream",
    // What depends on the node's version or family is defined once, as is the parser of node.conf. x402/contracts: the
    // chain has the contracts that payments call, at their addresses.
    mayImport: [
      "daemon/**",
      "node/{families,layout,versions,version-setting}.ts",
      "node/conf/config-text.ts",
      "x402/contracts.ts",
    ],
  },
  policies: {
    what: "A Pulumi policy pack: what a deployment may not do",
    mayImport: [
      "daemon/default-ports.ts",
      // What looks like a secret is defined once.
      "daemon/secrets/secret-vocabulary.ts",
      "node/versions.ts",
      "node/lint/lint-config.ts",
      "node/conf/{document,monitor-config}.ts",
    ],
  },
  infra: {
    what: "The Pulumi program for Docker and Kubernetes, images, alerts",
    mayImport: [
      // mask: no URL in a message shows its password. loopback: addresses unreachable from a container are recognized
      // as in the services.
      "daemon/settings/*.ts",
      // bytes, request: responses before a deployment are no more trusted than responses to a service. markdown: the
      // table of the stack's keys is printed like every other table in the docs. time: an update waits for a container
      // as a service waits. disk-space: free disk space is read in one place. program-files: rules and dashboards are read.
      "daemon/{bytes,default-ports,markdown,time,version}.ts",
      // regular-file, utf8: a preview rejects files that the services would reject.
      "daemon/files/{disk-space,program-files,regular-file,utf8}.ts",
      // own-command, shell-word: a stack's outputs print commands that run this program, wherever they are pasted.
      "daemon/command-line/{own-command,shell-word}.ts",
      "daemon/secrets/mask.ts",
      "daemon/http/{address,docker-engine,operator-paths}.ts",
      // free-ports: tests find the machine's used ports.
      "daemon/testing/free-ports.ts",
      "{sidecar,sidecar/restore,sidecar/volume-snapshot,engine-proxy,facilitator,resource-server,devnet,devnet/upstream}/settings.ts",
      // token/address: the devnet's overlay sells for the token that its node holds.
      "devnet/token/address.ts",
      "resource-server/routes/{own-upstream,route}.ts",
      "gateway/settings/{api-keys,policy}.ts",
      // What depends on the node's version or family, and how a version is parsed, is defined once.
      "node/{families,versions,version-setting}.ts",
      // A stack rejects at preview what the TLS policy would reject.
      "policies/cloud-certificates.ts",
      // images: the node's own init container reads and edits node.conf as the sidecar does.
      "node/conf/{document,editor,parsed-text}.ts",
      // A payee with a mistyped digit fails the preview.
      "x402/address.ts",
    ],
  },
  cli: {
    what: "The `gatehouse` command: loads a service or a tool, and runs the whole stack for `npm start`",
    mayImport: [
      "daemon/**",
      "{sidecar,gateway,engine-proxy,facilitator,resource-server,devnet,devnet/pushgateway,devnet/upstream}/{main,settings}.ts",
      "{sidecar/restore,sidecar/volume-snapshot}/settings.ts",
      "facilitator/{network-options,commands/open-ledger-access,commands/export-ledger,commands/refund}.ts",
      "resource-server/claims/open-claim-ledger.ts",
      // running-node: the stack ends a node that its own `ops` does not stop in time.
      "devnet/{prepared-node,token/address,node/running-node}.ts",
      "client/{pay,paying-fetch,exit-status}.ts",
      "x402/contracts.ts",
      "facilitator/contracts/contracts-command.ts",
      "node/lint/{lint-command,report/lint-document}.ts",
      // gatehouse upgrade --stack checks node.conf for a version, and queries a sidecar, as the sidecar and gatehouse
      // status do.
      "node/{layout,versions,settled-block,lint/lint-config,lint/new-findings}.ts",
      "status/{request-status,status-command,verdict}.ts",
      // gatehouse status --page and the stack serve one page about several services.
      "sidecar/overview/{overview,targets}.ts",
      "sidecar/{upkeep/plan,upkeep/control/resume,upkeep/control/restart,upkeep/control/adopt,upkeep/control/upgrade,restore/restore,volume-snapshot/volume-snapshot}-command.ts",
      // The settings specify where a running sidecar accepts commands; nothing else in the upkeep does.
      "sidecar/upkeep/state/state-location.ts",
      // It uses the same upgrade engine as the sidecar.
      "sidecar/upgrade/*.ts",
      // The options that identify a sidecar, which commands' messages repeat, and the operator's consent to a change.
      "sidecar/upkeep/control/control-options.ts",
      // npm start -- --observe runs Prometheus with a deployment's rules and configuration.
      "infra/observability/{rules,scrape-config}.ts",
      // A stack's services, and how each is operated.
      "infra/stack-services.ts",
    ],
  },
  package: {
    what: "What the npm package exports, and the builds of it and of the single executable",
    mayImport: [
      // The files that the executable must contain.
      "daemon/files/program-files.ts",
      "package.json",
      "client/{paying-fetch,payment-choice,token-reader}.ts",
      "node/lint/{lint-rules,lint-config}.ts",
      "node/versions.ts",
      "daemon/settings/{settings,problem}.ts",
      "{sidecar,sidecar/restore,sidecar/volume-snapshot,gateway,engine-proxy,facilitator,resource-server,devnet}/settings.ts",
      "policies/policy.ts",
      "policies/rules/all-rules.ts",
      "infra/platform.ts",
      "infra/components/service.ts",
      "infra/stack-component/{stack,stack-inputs}.ts",
      "infra/config/{config-problem,deployment-secret,pulumi-config}.ts",
      "infra/services/{built-service,facilitator-spec}.ts",
      "infra/docker/docker-host.ts",
      "infra/kubernetes/{kubernetes-options,kubernetes-platform}.ts",
    ],
  },
  test: {
    what: "Tests that start services, benchmarks, attacks, and what several rooms' tests share",
    mayImport: ["**"],
  },
};

/**
 * Prints the table for docs/architecture.md, with columns padded like the formatter's. Only this table defines which
 * files of a room are public.
 */
export function printRoomTable(): string {
  const rows = Object.entries(roomTable).map(([room, { what, mayImport }]) => [
    `\`${room}/\``,
    what,
    listRooms(mayImport).join(", ") || "nothing",
  ]);
  return formatTable(["room", "what it is", "imports from"], rows).join("\n");
}

/** Lists the rooms that globs match: `{sidecar,gateway/observe}/settings.ts` matches two. */
function listRooms(globs: readonly string[]): readonly string[] {
  const starts = globs.flatMap((glob) => (/^\{([^}]*)\}/.exec(glob)?.[1] ?? glob).split(","));
  const rooms = starts.map((start) => start.split("/")[0] ?? "");
  return [...new Set(rooms)].flatMap((room) => (room === "**" ? ["all"] : roomTable[room] ? [`\`${room}\``] : []));
}

/**
 * Replaces the table between a text's comments `<!-- rooms: … -->` and `<!-- /rooms -->`.
 *
 * @throws {Error} if the text has no such comments.
 */
export function withRoomTable(text: string): string {
  return replaceMarkedSection(text, { page: "docs/architecture.md", mark: "rooms", marked: printRoomTable() });
}
