// Light or dark: as the system has it, until the reader presses the button.
const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";

try {
  const kept = localStorage.getItem("theme");
  if (kept) root.dataset.theme = kept;
} catch { /* storage is switched off: the choice lasts for this page */ }

document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("theme");
  const show = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* as above */ }
    show();
  });
  system.addEventListener("change", show);
  show();
  button.hidden = false;
});
