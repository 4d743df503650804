/** A tier whose limits are all checked and never reached. */
export const roomyTier = {
  requestsPerSecond: 1e7,
  requestBurst: 1e7,
  computeUnitsPerSecond: 1e9,
  computeUnitBurst: 1e9,
  concurrency: 4_096,
  webSockets: 10_000,
  subscriptions: 10_000,
};
