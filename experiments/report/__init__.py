"""What all experiments share: figures with findings, their files, progress, and the page that shows them."""
