import { type Advice, type AdviceTable, type Step, step } from "./deployment.ts";

export const nodeAdvice: AdviceTable = {
  RpcResponding: ({ reason }, { showProcess, showLog, start, queryRpc, restartsHung }) => {
    if (reason === "ConnectionRefused") {
      return [
        step("Check whether the node's process is running.", showProcess),
        step("Find the reason for its exit at the end of its log.", showLog),
        step("Fix that, then start the node.", start),
        step("Check that it responds.", queryRpc),
      ];
    }
    if (reason === "ConnectionClosed") {
      return [
        step(
          "Check whether the node's process is running; a proxy may accept connections for a stopped node.",
          showProcess,
        ),
        step("Check the end of its log, and of the proxy's log if there is one.", showLog),
        step("Query the node yourself.", queryRpc),
      ];
    }
    if (reason === "Unreachable") {
      return [
        step("Query the node from here to reproduce the error above.", queryRpc),
        step("Check whether the node's process is running, and on which address it listens.", showProcess),
        step("Fix the network or firewall in between, or correct the node.httpUrl setting."),
      ];
    }
    if (reason === "NameNotResolved") {
      return [
        step("Check which DNS server this host uses, and whether it responds.", "cat /etc/resolv.conf"),
        step(
          "Fix the DNS server, or set node.httpUrl to the node's IP address. Don't restart the node: no request reached it.",
        ),
      ];
    }
    if (reason === "TimedOut") {
      return [
        step(
          "Check whether the node's process is running: the address of a stopped container or host may not respond at all.",
          showProcess,
        ),
        step("If it is running, query the node yourself.", queryRpc),
        step("Check the end of its log, its CPU and its disk.", showLog),
        restartsHung
          ? step("Wait: Gatehouse restarts a node that is unresponsive for restart.hungAfterMs.")
          : step("Gatehouse does not restart an unresponsive node in this deployment: stop it, then start it.", start),
      ];
    }
    return [
      step("Query the node yourself, and check what responds.", queryRpc),
      step("Check which process listens there.", showProcess),
      step("If the node responds at another address, correct the setting node.httpUrl."),
    ];
  },
  ChainIdMatches: (_, { queryRpc }) => [
    step("Check which node responds there.", queryRpc),
    step("Correct the setting node.httpUrl, or node.chainId if this is the intended chain."),
  ],
  HeightAdvancing: ({ reason }, { showLog }) => {
    if (reason === "WentBackwards") {
      return [
        step("Do not restart the node. Find out who changed its data or its volume."),
        step("Check its log.", showLog),
      ];
    }
    return [
      step("Compare with a public endpoint of the chain. If that is stalled too, the chain itself is."),
      step("Check the node's peers and clock in its log.", showLog),
      ...(reason === "Stalled"
        ? []
        : [step("Set lag.references so that Gatehouse can tell a stalled node from a stalled chain.")]),
    ];
  },
  NodeSynced: ({ reason }, { showLog, showDisk }) =>
    reason === "Behind"
      ? [
          step("If the lag shrinks, wait: the node is catching up."),
          step("If it grows, check the disk and the CPU.", showDisk),
          step("Check the node's peers in its log.", showLog),
        ]
      : [step("Check whether the endpoints in lag.references are reachable from here.")],
  WebSocketResponding: ({ reason }) => {
    if (reason === "NameNotResolved") {
      return [
        step("Check which DNS server this host uses, and whether it responds.", "cat /etc/resolv.conf"),
        step("Fix the DNS server, or set node.webSocketUrl to the node's IP address."),
      ];
    }
    return [
      step("Enable the node's WebSocket, or correct the setting node.webSocketUrl."),
      step("If it is enabled, the node's WebSocket may hang while HTTP responds. Restart the node at a quiet time."),
    ];
  },
  GatewayServing: () => [step("Correct the setting node.webSocketUrl, and check the sidecar's own log.")],
  CallsSucceeding: ({ reason }, { showLog, queryRpc }) =>
    reason === "Overloaded"
      ? [
          step("Check whether the gateway itself is slow (GatewayResponsive). If so, give it more CPU."),
          step("Find the busy methods and tiers below, and lower their limits."),
        ]
      : [
          step("Check the node's log: it passes health checks but fails callers' requests.", showLog),
          step("Query the node yourself.", queryRpc),
          step("Send one of the calls in the message directly to the node, and compare."),
        ],
  GatewayResponsive: () => [
    step("Check this machine's CPU: another process may be using it."),
    step("Find the busy methods and tiers below, and lower their limits."),
  ],
  DiskSpaceSufficient: ({ reason }, { showDisk }) => listDiskSteps(reason, showDisk),
  ConnectionsAvailable: () => [
    step("Find the tier with the most connections under Traffic, and lower its limit if they are unwanted."),
  ],
  FilesLoaded: () => [
    step("Fix the file named in the message. It is reloaded when saved."),
    step("Until then, the previous content stays active."),
  ],
  MetricsArriving: ({ reason }, { lint }) => listMetricsSteps(reason, lint),
};

function listDiskSteps(reason: string, showDisk: string | undefined): readonly Step[] {
  if (reason === "AtMaxSize") return [step("Raise volume.ceilingGibibytes, or make sure that pruning advances.")];
  if (reason === "ResizeFailed") return [step("Fix the problem above. Gatehouse retries every minute.")];
  if (reason === "ReadFailed") return [step("Set node.dataPath, or mount the node's data in the sidecar.")];
  return [
    step("Find out what is full.", showDisk),
    step("Free space outside the node's data: old snapshots, rotated logs, core dumps."),
    step("Expand the disk. Delete nothing in the node's data directory."),
  ];
}

function listMetricsSteps(reason: string, lint: string | undefined): ReturnType<Advice> {
  if (reason === "PushgatewayUnreachable") {
    return [step("Check whether the Pushgateway is running, and whether pushgateway.url points to it.")];
  }
  if (reason === "PushesRejected") {
    return [
      step("Find the reason in the Pushgateway's log."),
      step("Usually another group has a metric with the same name but another type: delete that group."),
    ];
  }
  if (reason === "JobShared") {
    return [
      step("Find the other node with this job name; the usual cause is a copied workspace."),
      step("Give each node its own name with the setting monitor.jobName."),
    ];
  }
  return [
    step("Check whether node.conf has the Pushgateway's address and port.", lint),
    step("If it does, restart the node: it reads node.conf only at startup."),
  ];
}
