import { renderMermaidSVG } from "beautiful-mermaid";

/** The site's own colours, so that a diagram is dark where the page is. */
const colours = { bg: "var(--vp-c-bg)", fg: "var(--vp-c-text-1)", muted: "var(--vp-c-text-2)", transparent: true };

/** Smallest scale at which a diagram is drawn to fit: its letters can still be read. */
const smallest = 0.75;

/**
 * Draws a Mermaid diagram while the site is built, as an element for a page. One that does not fit is drawn smaller, and scrolls by itself
 * where that is not enough.
 *
 * @throws {Error} where the text is no diagram: the build fails then.
 */
export function drawDiagram(text: string): string {
  // The renderer asks a font of elsewhere, which the site brings along.
  const svg = renderMermaidSVG(text, colours).replace(/@import url\([^)]*\);/g, "");
  const fitting = svg.replace(/ width="([\d.]+)" height="[\d.]+" style="/, (_, width: string) => {
    const least = Math.round(Number(width) * smallest);
    return ` style="width:100%;max-width:${width}px;min-width:${least}px;height:auto;`;
  });
  // Vue takes no <style> in a template.
  return `<div class="diagram" style="overflow-x: auto" tabindex="0" v-html="${escapeAttribute(JSON.stringify(fitting))}"></div>`;
}

function escapeAttribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
