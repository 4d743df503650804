export function formatSize(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}

export const clonedSizeText = "cloned, which takes seconds and no space at first";
