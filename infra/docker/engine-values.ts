/**
 * Values as the Docker provider reads them back. It compares text, so the same amount written otherwise would replace or update
 * the container at every `pulumi up`.
 */

/** A number of processors: the shortest decimal form that has a fraction, e.g. `1.0`, `0.25`. */
export function engineCpus(cpus: number): string {
  return Number.isInteger(cpus) ? `${cpus}.0` : String(cpus);
}

/** A duration as Go prints it, e.g. `5s`, `2m0s`, `1h0m0s`. */
export function engineDuration(seconds: number): string {
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  const rest = `${seconds % 60}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}
