/** A tier with limits too high for a test to reach by accident. */
export const limitlessTier = {
  requestsPerSecond: 1e7,
  requestBurst: 1e7,
  computeUnitsPerSecond: 1e9,
  computeUnitBurst: 1e9,
  concurrency: 4_096,
};
