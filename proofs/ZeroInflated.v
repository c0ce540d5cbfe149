(** The zero-inflated uniform pair of laws ([src/tarry/core/laws/zero_inflated.py]).

    Batched: every delay of G, G + 1, ..., L - 1 alike. Unbatched: every delay of 1, 2, ..., L - 1 alike,
    and the rest of the mass on 0. The ratio R is the fraction p / q. All masses are integers over one
    denominator, [whole] = p (L - G): a batched delay has p of it, an unbatched one q. *)

From Coq Require Import ZArith Lia Bool.
From Tarry Require Import Sums.
Open Scope Z_scope.

Section Pair.
Variables p q G L : Z.

Definition whole : Z := p * (L - G).

(** The mass of each delay k. *)
Definition b (k : Z) : Z := if (G <=? k) && (k <? L) then p else 0.
Definition u (k : Z) : Z :=
  if k =? 0 then whole - (L - 1) * q else if (0 <? k) && (k <? L) then q else 0.

Hypothesis ratio : 0 < q < p.
Hypothesis start_and_end : 0 < G < L.
(** L <= R (L - G): the support is long enough. *)
Hypothesis long_enough : L * q <= p * (L - G).

(** A batched delay has p from G to L - 1. *)
Lemma b_inside k : G <= k < L -> b k = p.
Proof. intros. unfold b. now rewrite (proj2 (Z.leb_le G k)), (proj2 (Z.ltb_lt k L)) by lia. Qed.

(** It has nothing elsewhere. *)
Lemma b_outside k : k < G \/ L <= k -> b k = 0.
Proof. unfold b. destruct (Z.leb_spec G k), (Z.ltb_spec k L); simpl; lia. Qed.

(** An unbatched delay has q from 1 to L - 1. *)
Lemma u_inside k : 0 < k < L -> u k = q.
Proof.
  intros. unfold u.
  now rewrite (proj2 (Z.eqb_neq k 0)), (proj2 (Z.ltb_lt 0 k)), (proj2 (Z.ltb_lt k L)) by lia.
Qed.

(** It has nothing outside 0 .. L-1. *)
Lemma u_outside k : k < 0 \/ L <= k -> u k = 0.
Proof. unfold u. destruct (Z.eqb_spec k 0), (Z.ltb_spec 0 k), (Z.ltb_spec k L); simpl; lia. Qed.

(** No unbatched delay of 0..L-1 has less than q: at 0 that is what [long_enough] says. *)
Lemma u_at_least k : 0 <= k < L -> q <= u k.
Proof.
  intros. destruct (Z.eq_dec k 0) as [-> |].
  - unfold u, whole. simpl. lia.
  - rewrite u_inside by lia. lia.
Qed.

(** No mass is negative. *)
Lemma b_not_negative k : 0 <= b k.
Proof. unfold b. destruct (_ && _); lia. Qed.

(** Nor is any of these. *)
Lemma u_not_negative k : 0 <= u k.
Proof.
  destruct (Z.lt_ge_cases k 0); [rewrite u_outside by lia; lia |].
  destruct (Z.lt_ge_cases k L); [| rewrite u_outside by lia; lia].
  pose proof (u_at_least k). lia.
Qed.

(** (a) An act that is batched is released after k at most R times as often as one that is unbatched and
    arrives s later, for every k and every shift s of 0..G. For k in G..L-1 the delay k - s of the other
    lies in 0..L-1, where it has at least q, so that q p <= p q; for other k the left side is 0. *)
Theorem dominates : forall k s, 0 <= s <= G -> q * b k <= p * u (k - s).
Proof.
  intros k s shift. assert (G <= k < L \/ (k < G \/ L <= k)) as [inside | outside] by lia.
  - rewrite b_inside by assumption. pose proof (u_at_least (k - s)). nia.
  - rewrite b_outside by assumption. pose proof (u_not_negative (k - s)). nia.
Qed.

(** (a) Both are laws: the batched masses sum to the denominator, *)
Theorem b_is_a_law : sum L b = whole.
Proof.
  rewrite (sum_cut G) by lia.
  rewrite sum_zero by (intros; apply b_outside; lia).
  rewrite (sum_ext _ _ (fun _ => p)) by (intros; apply b_inside; lia).
  rewrite sum_of_the_same by lia. unfold whole. lia.
Qed.

(** and so do the unbatched ones. *)
Theorem u_is_a_law : sum L u = whole.
Proof.
  rewrite (sum_cut 1) by lia.
  rewrite (sum_ext (L - 1) _ (fun _ => q)) by (intros; apply u_inside; lia).
  rewrite sum_of_the_same by lia. change (sum 1 u) with (u 0). unfold u. simpl. lia.
Qed.

(** The batched law is the unbatched one given a delay of at least G: those delays have (L - G) q together,
    and b k / whole = u k / ((L - G) q). So one draw serves for both labels. *)
Theorem coupled : forall k, G <= k -> b k * ((L - G) * q) = u k * whole.
Proof.
  intros k late. unfold whole. destruct (Z.lt_ge_cases k L).
  - rewrite b_inside, u_inside by lia. ring.
  - rewrite b_outside, u_outside by lia. ring.
Qed.

End Pair.
