/** npm's names for the images' architectures, keyed by Docker's names. */
export const npmArchitectures = { amd64: "x64", arm64: "arm64" } as const;

export type ImageArchitecture = keyof typeof npmArchitectures;

export const imageArchitectures = Object.keys(npmArchitectures) as readonly ImageArchitecture[];

/** Looks up an architecture by Docker's or Node's name; returns `undefined` if no image is built for it. */
export function findImageArchitecture(name: string | undefined): ImageArchitecture | undefined {
  return imageArchitectures.find((known) => name === known || name === npmArchitectures[known]);
}
