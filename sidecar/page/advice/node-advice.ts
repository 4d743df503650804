import type { Advice, AdviceTable, Step } from "./step.ts";
import { step } from "./step.ts";

/** Advice on the node's process and its chain. */
export const nodeAdvice: AdviceTable = {
  RpcResponding: ({ reason }, { showProcess, showLog, start, queryRpc, restartsHung }) => {
    if (reason === "ConnectionRefused") {
      return [
        step("Check whether the node's process is running.", showProcess),
        step("Read why it ended at the end of its log.", showLog),
        step("Fix that, then start the node.", start),
        step("Check that it responds.", queryRpc),
      ];
    }
    if (reason === "ConnectionClosed") {
      return [
        step("Check whether the node's process runs: a proxy takes connections for one that does not.", showProcess),
        step("Read the end of its log, and of the proxy's if there is one.", showLog),
        step("Query it yourself.", queryRpc),
      ];
    }
    if (reason === "Unreachable") {
      return [
        step("Query it from here: the error is the one that is named above.", queryRpc),
        step("Check whether the node's process runs, and where it listens.", showProcess),
        step("Fix the network or the firewall in between, or correct the setting node.httpUrl."),
      ];
    }
    if (reason === "NameNotResolved") {
      return [
        step("Check which name server this host uses, and whether it answers.", "cat /etc/resolv.conf"),
        step(
          "Fix the name server, or set node.httpUrl to the node's address. Leave the node alone: no request reached it.",
        ),
      ];
    }
    if (reason === "TimedOut") {
      return [
        step("Query the node yourself.", queryRpc),
        step("Read the end of its log; look at its CPU and its disk.", showLog),
        restartsHung
          ? step("Wait: Gatehouse restarts a node that hangs for restart.hungAfterMs.")
          : step("Gatehouse does not restart a node that hangs here: stop it, then start it.", start),
      ];
    }
    return [
      step("Query the node yourself, and see who answers.", queryRpc),
      step("Check which program listens there.", showProcess),
      step("If the node answers at another address, correct the setting node.httpUrl."),
    ];
  },
  ChainIdMatches: (_, { queryRpc }) => [
    step("Check which node answers there.", queryRpc),
    step("Correct the setting node.httpUrl, or node.chainId if this is the chain you want."),
  ],
  HeightAdvancing: ({ reason }, { showLog }) => {
    if (reason === "WentBackwards") {
      return [
        step("Do not restart the node. Ask who has worked on its data or its volume."),
        step("Read its log.", showLog),
      ];
    }
    return [
      step("Compare with a public endpoint of the chain. If that stands still too, the chain does."),
      step("Look at the node's peers and clock in its log.", showLog),
      ...(reason === "Stalled" ? [] : [step("Set lag.references: then Gatehouse itself tells the two apart.")]),
    ];
  },
  NodeSynced: ({ reason }, { showLog, showDisk }) =>
    reason === "Behind"
      ? [
          step("If the lag shrinks, wait: the node is catching up."),
          step("If it grows, look at the disk and the CPU.", showDisk),
          step("Look at the node's peers in its log.", showLog),
        ]
      : [step("Check whether the endpoints of lag.references can be reached from here.")],
  WebSocketResponding: ({ reason }) => {
    if (reason === "NameNotResolved") {
      return [
        step("Check which name server this host uses, and whether it answers.", "cat /etc/resolv.conf"),
        step("Fix the name server, or set node.webSocketUrl to the node's address."),
      ];
    }
    return [
      step("Switch the node's WebSocket on, or correct the setting node.webSocketUrl."),
      step("If it was on: the node's WebSocket may hang while HTTP answers. Restart the node at a quiet time."),
    ];
  },
  GatewayServing: () => [step("Correct the setting node.webSocketUrl, and read the sidecar's own log.")],
  CallsSucceeding: ({ reason }, { showLog, queryRpc }) =>
    reason === "Overloaded"
      ? [
          step("Check whether the gateway itself is slow (GatewayResponsive): then it needs more CPU."),
          step("See below which methods and tiers are busy, and lower their limits."),
        ]
      : [
          step("Read the node's log: it answers health checks and fails what callers send.", showLog),
          step("Query it yourself.", queryRpc),
          step("Send it one of the calls that the message names, past the gateway, and compare."),
        ],
  GatewayResponsive: () => [
    step("Look at this machine's CPU: another program may take it."),
    step("See below which methods and tiers are busy, and lower their limits."),
  ],
  DiskSpaceSufficient: ({ reason }, { showDisk }) => listDiskSteps(reason === "ReadFailed", showDisk),
  VolumeSizeSufficient: () => [step("Raise volume.ceilingGibibytes, or see that pruning advances.")],
  ConnectionsAvailable: () => [
    step("See under Traffic which tier has so many connections, and lower its limit if it is not wanted."),
  ],
  FilesLoaded: () => [
    step("Correct the file that the message names. It is read again as you save it."),
    step("Until then, what was read before is in force: don't rely on the change."),
  ],
  PruneAdvancing: (_, { showLog, showDisk }) => [
    step("Check whether the node logs errors about pruning.", showLog),
    step("See how long the disk lasts.", showDisk),
    step("If the log shows no cause, restart the node once at a quiet time, and see whether the backlog shrinks."),
  ],
  MetricsArriving: ({ reason }, { lint }) => listMetricsSteps(reason, lint),
};

function listDiskSteps(isUnreadable: boolean, showDisk: string | undefined): readonly Step[] {
  if (isUnreadable) return [step("Set node.dataPath, or mount the node's data for the sidecar.")];
  return [
    step("Find out what is full.", showDisk),
    step("Make room outside of the node's data: old snapshots, rotated logs, core dumps."),
    step("Enlarge the disk. Delete nothing in the node's data directory."),
  ];
}

function listMetricsSteps(reason: string, lint: string | undefined): ReturnType<Advice> {
  if (reason === "PushgatewayUnreachable") {
    return [step("Check whether the Pushgateway is running, and whether pushgateway.url is its address.")];
  }
  if (reason === "PushesRejected") {
    return [
      step("See the Pushgateway's log for the reason."),
      step("Mostly another group has a metric of the same name with another type: delete that group."),
    ];
  }
  if (reason === "JobShared") {
    return [
      step("Find the other node with this job name; a copied workspace is the usual cause."),
      step("Give each its own name by the setting monitor.jobName."),
    ];
  }
  return [
    step("Check whether node.conf names the Pushgateway's address and port.", lint),
    step("If it does: the node reads node.conf only at its start. It pushes after its next restart."),
  ];
}
