/** Reasons of `ConfigReconciled` for which node.conf can't be used at all. */
export const unusableConfigReasons = [
  "FileMissing",
  "Unreadable",
  "NotAFile",
  "Empty",
  "TooLarge",
  "NotText",
  "TooDeep",
  "Truncated",
  "NotAnObject",
  "NoChain",
  "Unresponsive",
] as const;

/** Reasons of `Reconciling` for which the sidecar can't store its state, and so changes nothing. */
export const stateStoreFailureReasons = ["DiskFull", "ReadOnly", "InUse", "WriteFailed", "Unresponsive"] as const;

/** Reasons of `Pruning` for which node_cli did not report the state. */
export const toolFailureReasons = [
  "NotFound",
  "NotExecutable",
  "TimedOut",
  "TooMuchOutput",
  "UnexpectedOutput",
  "Failed",
] as const;

/**
 * Every condition, in display order, with the reasons that each status can have. A component that reports another reason, or a reason under
 * the wrong status, does not compile.
 */
export const conditionReasons = {
  RpcResponding: {
    True: ["Responding"],
    False: [
      "ConnectionRefused",
      "ConnectionClosed",
      "Unreachable",
      "NameNotResolved",
      "TimedOut",
      "NotJsonRpc",
      "RpcError",
      "ResponseTooLarge",
    ],
    Unknown: ["CheckFailed"],
  },
  ChainIdMatches: { True: ["Matches"], False: ["WrongChain"], Unknown: ["CheckFailed"] },
  HeightAdvancing: {
    True: ["Advancing", "Idle"],
    False: ["Stalled", "NoNewBlock", "WentBackwards"],
    Unknown: ["Quiet", "NoResponse", "CheckFailed"],
  },
  NodeSynced: { True: ["Synced"], False: ["Behind"], Unknown: ["NoReference", "NoHeight", "CheckFailed"] },
  WebSocketResponding: {
    True: ["Responding"],
    False: ["ConnectionRefused", "ConnectionClosed", "Unreachable", "NameNotResolved", "TimedOut", "NotJsonRpc"],
    Unknown: ["CheckFailed"],
  },
  GatewayResponsive: { True: ["Responsive"], False: ["EventLoopDelayed"], Unknown: [] },
  GatewayServing: { True: ["Serving"], False: ["NoHead"], Unknown: ["WaitingForHead", "NodeUnhealthy", "CheckFailed"] },
  CallsSucceeding: {
    True: ["Succeeding"],
    False: ["UpstreamFailing", "Overloaded"],
    Unknown: ["TooFewCalls", "NotServing", "CheckFailed"],
  },
  FilesLoaded: { True: ["Loaded"], False: ["Rejected"], Unknown: ["CheckFailed"] },
  Reconciling: {
    True: ["Reconciling"],
    False: ["Failing", "Stuck", ...stateStoreFailureReasons],
    Unknown: ["NotReconciledYet"],
  },
  ConfigReconciled: {
    True: ["Reconciled"],
    False: [
      ...unusableConfigReasons,
      "Drift",
      "VersionUnknown",
      "PushAddressUnknown",
      "EditRejected",
      "Contested",
      "StartRewrites",
      "Locked",
      "LockFailed",
      "BackupFailed",
      "WriteFailed",
    ],
    Unknown: [],
  },
  VersionConsistent: { True: ["Consistent"], False: ["Mismatch", "VersionUnknown"], Unknown: [] },
  VersionSupported: {
    True: ["Supported"],
    False: ["OutdatedSoon", "Outdated"],
    Unknown: ["NotCompared", "CheckFailed"],
  },
  Pruning: {
    True: ["Enabled", "DisabledBySetting"],
    False: ["Disabled", "EnableFailed", "CannotDisable", "PruningStalled", ...toolFailureReasons],
    Unknown: ["NotRun", "CheckFailed"],
  },
  MetricsArriving: {
    True: ["Fresh"],
    False: ["Missing", "Stale", "PushesRejected", "JobShared", "PushgatewayUnreachable"],
    Unknown: ["NotPushing", "IdentityUnknown", "CheckFailed"],
  },
  DiskSpaceSufficient: {
    True: ["Sufficient", "Growing"],
    False: ["Low", "FullSoon", "AtMaxSize", "ResizeFailed"],
    Unknown: ["ReadFailed", "CheckFailed"],
  },
  ConnectionsAvailable: {
    True: ["Available"],
    False: ["FileDescriptorsLow", "ConnectionsFull"],
    Unknown: ["NotCounted", "CheckFailed"],
  },
  NoRestartPending: {
    True: ["NoRestart"],
    False: [
      "Running",
      "Settling",
      "WaitingForWindow",
      "BudgetExhausted",
      "StateNotWritable",
      "Contested",
      "StartRewrites",
      "Paused",
      "NoDriver",
      "ProgramMissing",
      "NodeStopped",
      "ConfigUnusable",
      "EditRejected",
      "EditNotChecked",
      "Observing",
      "WaitingForApproval",
    ],
    Unknown: [],
  },
  RollbackReady: {
    True: ["Ready"],
    False: ["BackupFailed", "NoBackup"],
    Unknown: ["Assumed", "NotYet", "NoRestarts"],
  },
  UpgradeVerified: {
    True: ["Verified", "ResolvedManually"],
    False: ["RolledBack", "RollbackFailed", "Blocked"],
    Unknown: ["Upgrading"],
  },
  DataIntact: { True: ["Intact"], False: ["Suspect"], Unknown: ["Inconclusive", "NeverHealthy"] },
  NotPaused: { True: ["NotPaused", "Observing"], False: ["Paused", "WaitingForApproval"], Unknown: [] },
} as const;
