// Light or dark: as the system says, until somebody presses the switch.

const KEPT = "evenmatch.theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function chosen() {
  return localStorage.getItem(KEPT) ?? (dark.matches ? "dark" : "light");
}

/** Dress the page, and let a button change it; `changed` is called after each change. */
export function dress(button, changed) {
  const wear = () => {
    document.documentElement.dataset.theme = chosen();
    button.textContent = chosen() === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Use ${chosen() === "dark" ? "light" : "dark"} colours`);
    changed();
  };
  button.addEventListener("click", () => {
    localStorage.setItem(KEPT, chosen() === "dark" ? "light" : "dark");
    wear();
  });
  dark.addEventListener("change", wear);
  wear();
}

/** A colour of the theme that is worn. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
